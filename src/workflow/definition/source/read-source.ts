import type { WorkflowPlace, WorkflowProblem, WorkflowSource } from '../../../core/records/workflow.ts';
import { readJson } from './read-json.ts';
import { readValue } from './read-value.ts';
import { readYaml } from './read-yaml.ts';
import { offsetOf, placesIn, type SourcePath, type SourceTree, Unusable } from './source-tree.ts';

/** The longest text of a definition. Larger ones take seconds to parse. */
export const MAX_SOURCE_BYTES = 256 * 1024;

/** A definition that has been read, with the place of each of its values. A value has no places. */
export interface ReadDefinition {
  readonly tree: SourceTree;
  locate(path: SourcePath, part?: 'name' | 'value'): WorkflowPlace | undefined;
}

/** Reads the text or value of a source. Returns a problem if it cannot be used. */
export function readSource(source: WorkflowSource): ReadDefinition | WorkflowProblem {
  const { text, file, value, at } = source;
  if (text === undefined) return readGiven(value, at);
  const bytes = text.length > MAX_SOURCE_BYTES ? text.length : Buffer.byteLength(text);
  const placeAt = placesIn(bytes > MAX_SOURCE_BYTES ? '' : text, file);
  const read = languageOf(source) === 'json' ? readJson : readYaml;
  return attempt(() => {
    requireSize(bytes);
    const tree = read(text);
    return { tree, locate: (path, part) => placeAt(offsetOf(tree, path, part)) };
  }, placeAt);
}

/** Reads a value. All of it is at the place of its entry in the configuration. */
function readGiven(value: WorkflowSource['value'], at: WorkflowPlace | undefined): ReadDefinition | WorkflowProblem {
  return attempt(
    () => {
      const tree = readValue(value);
      requireSize(JSON.stringify(tree.value).length);
      return { tree, locate: () => at };
    },
    () => at,
  );
}

function requireSize(bytes: number): void {
  if (bytes <= MAX_SOURCE_BYTES) return;
  const message = `The definition has ${bytes} bytes; ${MAX_SOURCE_BYTES} are allowed.`;
  throw new Unusable('SOURCE_TOO_LARGE', 0, { message, fix: 'Split it into sub-workflows, and pass data as input.' });
}

/** JSON is almost YAML, but tabs and comments of JSON are not: a text that begins with `{` or `//` is JSON. */
function languageOf({ language, file = '', text = '' }: WorkflowSource): 'yaml' | 'json' {
  if (language) return language;
  if (/\.jsonc?$/i.test(file)) return 'json';
  if (/\.ya?ml$/i.test(file)) return 'yaml';
  return /^\s*(\{|\/[/*])/.test(text) ? 'json' : 'yaml';
}

function attempt(
  read: () => ReadDefinition,
  placeAt: (offset: number) => WorkflowPlace | undefined,
): ReadDefinition | WorkflowProblem {
  try {
    return read();
  } catch (thrown) {
    const { code, message, fix, offset } = thrown instanceof Unusable ? thrown : describeUnexpected(thrown);
    const at = placeAt(offset);
    return { level: 'error', code, message, fix, ...(at && { at }) };
  }
}

/** The parsers are recursive: a text nested too deeply overflows the stack. */
function describeUnexpected(thrown: unknown): Unusable {
  const isDeep = thrown instanceof RangeError;
  const code = isDeep ? 'NESTED_TOO_DEEPLY' : 'SYNTAX_INVALID';
  const message = isDeep ? 'The definition is nested too deeply.' : 'The definition cannot be parsed.';
  return new Unusable(code, 0, { message, fix: isDeep ? 'Flatten it.' : 'Correct its syntax.' });
}
