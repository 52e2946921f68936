import { pathToFileURL } from 'node:url';
import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { realTimer } from '../../core/time.ts';

const TIMEOUT_MS = 5000;
const MAX_REASON_CHARS = 500;

/** Loads the definition that a TypeScript module exports, as default or as its only export. Runs the code of the module. */
export async function loadDefinition(
  file: string,
  version: string,
): Promise<{ readonly value: JsonObject } | { readonly reason: string }> {
  // The version makes Node load an edited file again.
  const address = `${pathToFileURL(file).href}?version=${version}`;
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = realTimer(TIMEOUT_MS, () => reject(new Error(`its code takes longer than ${TIMEOUT_MS} ms`)));
  });
  try {
    const module: unknown = await Promise.race([import(address), late]);
    return definitionIn(module as Readonly<Record<string, unknown>>);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return { reason: `cannot be loaded: ${cutAndEscapeBreaks(message, MAX_REASON_CHARS)}` };
  } finally {
    cancel();
  }
}

function definitionIn(module: Readonly<Record<string, unknown>>) {
  const named = Object.values(module);
  const found = module.default ?? (named.length === 1 ? named[0] : undefined);
  if (!isObject(found)) return { reason: 'exports no definition; export one as default' };
  // `defineWorkflow` returns a source; a plain object is a definition.
  const definition = isObject(found.value) && found.steps === undefined ? found.value : found;
  return { value: JSON.parse(JSON.stringify(definition)) as JsonObject };
}
