import type { Json, JsonObject } from '../../core/call.ts';
import { charsOf } from '../expressions/evaluate-mapping.ts';
import type { StoredValue } from '../run/durable.ts';
import type { ExecutionParts } from './frame/frame.ts';
import { StepFailure } from './frame/step-failure.ts';
import type { LazyValue } from './frame/step-scope.ts';

/** The most bytes of results of one step that are loaded together. */
const MAX_LOADED_BYTES = 32 * 1024 * 1024;

/** An item that has succeeded or was skipped; or one that has failed and is tolerated. */
export type ItemEntry = { readonly stored: StoredValue } | { readonly failed: JsonObject };

/** Loads the results of the items of a fan-out. Throws before it loads more than is allowed. */
export async function loadItems(
  { durable }: ExecutionParts,
  path: string,
  entries: readonly ItemEntry[],
): Promise<readonly JsonObject[]> {
  const sizes = entries.map((entry) => ('stored' in entry && 'bytes' in entry.stored ? entry.stored.bytes : 0));
  requireSize(
    path,
    sizes.reduce((sum, bytes) => sum + bytes, 0),
  );
  const items: JsonObject[] = [];
  for (const entry of entries) {
    items.push('failed' in entry ? entry.failed : ((await durable.load(entry.stored)) as JsonObject));
  }
  return items;
}

/** Loads the results of branches or iterations. Their sizes are known only then, so it ends at the limit. */
export async function loadAll(path: string, values: readonly LazyValue[]): Promise<readonly Json[]> {
  const loaded: Json[] = [];
  let chars = 0;
  for (const value of values) {
    const one = await value();
    chars += charsOf(one, MAX_LOADED_BYTES);
    requireSize(path, chars);
    loaded.push(one);
  }
  return loaded;
}

function requireSize(path: string, bytes: number): void {
  if (bytes <= MAX_LOADED_BYTES) return;
  throw new StepFailure({
    code: 'RESULTS_TOO_LARGE',
    message: `The results of the step ${path} have ${bytes} bytes or more together, and ${MAX_LOADED_BYTES} are allowed.`,
    fix: 'Let each item, branch or iteration return less, or run the workflow for a part of them.',
    path,
    details: { bytes, limit: MAX_LOADED_BYTES },
  });
}
