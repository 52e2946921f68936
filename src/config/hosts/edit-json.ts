import type { JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { unfolded, withMember, withoutMember } from '../edit/edit-text.ts';
import { valueAt } from '../read/describe-issue.ts';
import { parseDocument } from '../read/parse-document.ts';
import type { Edit } from './dialect.ts';

/** Writes values into JSON with comments. The other text stays as it is. */
export function editJson(text: string, edits: readonly Edit[]): string {
  return edits.length === 0 ? text : edits.reduce(edited, unfolded(text));
}

function edited(text: string, { path, value }: Edit): string {
  const steps = path.map(String);
  const parent = steps.slice(0, -1);
  const name = steps.at(-1) ?? '';
  if (value === undefined) return isObject(valueAt(rootOf(text), parent)) ? withoutMember(text, parent, name) : text;
  const ready = parent.reduce((now, step, index) => {
    const above = parent.slice(0, index);
    const there = isObject(valueAt(rootOf(now), [...above, step]));
    return there ? now : withMember(now, above, { name: step, value: {} });
  }, text);
  return withMember(ready, parent, { name, value });
}

function rootOf(text: string): JsonObject {
  const document = parseDocument('', text);
  return 'root' in document ? document.root : {};
}
