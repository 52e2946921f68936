import { type Node, parseTree } from 'jsonc-parser';
import type { Json } from '../../core/call.ts';
import { isSecretName, REDACTED, redact, withoutSecrets } from '../read/redact.ts';

// A default may be the secret itself, so `${NAME:-default}` is not shown.
const REFERENCE = /^(?:[A-Za-z]+ )?\$\{(?:env:|secret:)?[A-Za-z0-9_.-]+\}$/;

/** Redacts the secret values in the text of a file. Layout, comments and references such as `${TOKEN}` stay. */
export function previewText(text: string): string {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  const hidden = tree === undefined ? [] : hiddenIn(tree, false);
  return hidden.toReversed().reduce((shown, { node, value }) => {
    const { offset, length } = node;
    return shown.slice(0, offset) + JSON.stringify(value) + shown.slice(offset + length);
  }, text);
}

/** Redacts the secrets in one value by the same rule. */
export function previewValue(value: Json): Json {
  return JSON.parse(previewText(JSON.stringify(value))) as Json;
}

/** Redacts an expanded value; strings that were written with `${secret:…}` are redacted too. */
export function previewExpanded(value: Json, written: Json | undefined): Json {
  return previewValue(withoutSecrets(value, written));
}

interface Hidden {
  readonly node: Node;
  readonly value: Json;
}

function hiddenIn(node: Node, secret: boolean): readonly Hidden[] {
  const children = node.children ?? [];
  if (node.type === 'object') {
    return children.flatMap(({ children: [name, value] = [] }) =>
      value === undefined ? [] : hiddenIn(value, secret || isSecretName(String(name?.value))),
    );
  }
  if (node.type === 'array') return children.flatMap((item, index) => hiddenItem(item, children[index - 1], secret));
  return hiddenLeaf(node, secret ? REDACTED : redact(node.value as Json));
}

// The argument after a flag such as `--token` is redacted.
function hiddenItem(item: Node, before: Node | undefined, secret: boolean): readonly Hidden[] {
  if (item.children !== undefined || typeof before?.value !== 'string') return hiddenIn(item, secret);
  const [, shown = null] = redact([before.value, item.value as Json]) as readonly Json[];
  return hiddenLeaf(item, secret ? REDACTED : shown);
}

function hiddenLeaf(node: Node, shown: Json): readonly Hidden[] {
  const isShown = typeof node.value !== 'string' || REFERENCE.test(node.value) || shown === node.value;
  return isShown ? [] : [{ node, value: shown }];
}
