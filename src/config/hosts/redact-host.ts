import { type Node, parseTree } from 'jsonc-parser';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { previewText, previewValue } from '../edit/preview.ts';

/** The hosts' names of fields with secret values, besides Heddle's own names. */
const ALIASES: readonly string[] = ['environment', 'http_headers', 'environmentVariables', 'environment_variables'];
const BEFORE = '{"env":';

/** Redacts the secret values in a host's JSON text. Layout and comments stay. */
export function redactJson(text: string): string {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  const aliased = tree === undefined ? [] : aliasedIn(tree);
  const hidden = aliased.toReversed().reduce((shown, { offset, length }) => {
    const inner = previewText(`${BEFORE}${shown.slice(offset, offset + length)}}`).slice(BEFORE.length, -1);
    return shown.slice(0, offset) + inner + shown.slice(offset + length);
  }, text);
  return previewText(hidden);
}

function aliasedIn(node: Node): readonly Node[] {
  const [name, value] = node.children ?? [];
  if (node.type === 'property' && value && ALIASES.includes(String(name?.value))) return [value];
  return (node.children ?? []).flatMap(aliasedIn);
}

/** Redacts the secrets in a host's value. */
export function redactValue(value: JsonObject): JsonObject {
  return previewValue(redactAliases(value)) as JsonObject;
}

function redactAliases(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => redactAliases(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (!ALIASES.includes(key)) return [key, redactAliases(member ?? null)];
      return [key, (previewValue({ env: member ?? null }) as JsonObject).env];
    }),
  );
}
