import { type Node, parseTree } from 'jsonc-parser';
import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { REDACTED } from '../../core/text/redact-text.ts';
import { isSecretName, redact, withoutSecrets } from '../read/redact.ts';
import { isPlainValue } from './plain-value.ts';

// A default may be the secret itself, so `${NAME:-default}` is not shown.
const REFERENCE = /^(?:[A-Za-z]+ )?\$\{(?:env:|secret:)?[A-Za-z0-9_.-]+\}$/;

/**
 * Redacts the secret values in the text of a file. Layout, comments and references such as `${TOKEN}` stay, and so do
 * values of `env` and `headers` that are plainly no secrets.
 */
export function previewText(text: string): string {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  const hidden = tree === undefined ? [] : hiddenIn(tree, 'open');
  return hidden.toReversed().reduce((shown, { node, value }) => {
    const { offset, length } = node;
    return shown.slice(0, offset) + JSON.stringify(value) + shown.slice(offset + length);
  }, text);
}

/** Redacts the secrets in one value by the same rule. */
export function previewValue(value: Json): Json {
  return JSON.parse(previewText(JSON.stringify(value))) as Json;
}

/** Redacts an expanded value; variables and headers that were written with a reference are redacted too. */
export function previewExpanded(value: Json, written: Json | undefined): Json {
  return previewValue(withoutReferences(withoutSecrets(value, written), written));
}

// The value behind a reference is kept out of the file, so it may be a secret of any form.
function withoutReferences(value: Json, written: Json | undefined): Json {
  if (!isObject(value) || !isObject(written)) return value;
  const fields = ['env', 'headers'].flatMap((field) => {
    const [values, texts] = [value[field], written[field]];
    if (!isObject(values) || !isObject(texts)) return [];
    const hasReference = (name: string) => String(texts[name] ?? '').includes('${');
    const shown = Object.entries(values).map(([name, one]) => [name, hasReference(name) ? REDACTED : one]);
    return [[field, Object.fromEntries(shown)] as const];
  });
  return { ...value, ...Object.fromEntries(fields) };
}

interface Hidden {
  readonly node: Node;
  readonly value: Json;
}

/** `open`: shown as far as it looks harmless. `variables`: members of `env` or `headers`. `secret`: never shown. */
type Secrecy = 'open' | 'variables' | 'secret';

function hiddenIn(node: Node, secrecy: Secrecy): readonly Hidden[] {
  const children = node.children ?? [];
  if (node.type === 'object') {
    return children.flatMap(({ children: [name, value] = [] }) =>
      value === undefined ? [] : hiddenIn(value, secrecyOf(String(name?.value), value, secrecy)),
    );
  }
  const inner = secrecy === 'variables' ? 'secret' : secrecy;
  if (node.type === 'array') return children.flatMap((item, index) => hiddenItem(item, children[index - 1], inner));
  return hiddenLeaf(node, inner === 'secret' ? REDACTED : redact(node.value as Json));
}

function secrecyOf(name: string, value: Node, outer: Secrecy): Secrecy {
  if (outer === 'secret') return outer;
  if (outer === 'variables') return value.children === undefined && isPlainValue(name, value.value) ? 'open' : 'secret';
  if (value.type === 'object' && (name === 'env' || name === 'headers')) return 'variables';
  return isSecretName(name) ? 'secret' : outer;
}

// The argument after a flag such as `--token` is redacted.
function hiddenItem(item: Node, before: Node | undefined, secrecy: Secrecy): readonly Hidden[] {
  if (item.children !== undefined || typeof before?.value !== 'string') return hiddenIn(item, secrecy);
  const [, shown = null] = redact([before.value, item.value as Json]) as readonly Json[];
  return hiddenLeaf(item, secrecy === 'secret' ? REDACTED : shown);
}

function hiddenLeaf(node: Node, shown: Json): readonly Hidden[] {
  const { value } = node;
  const isShown = typeof value === 'boolean' || value === null || REFERENCE.test(String(value)) || shown === value;
  return isShown ? [] : [{ node, value: shown }];
}
