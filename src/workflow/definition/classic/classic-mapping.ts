import type { Json } from '../../../core/call.ts';
import { isObject } from '../../../core/json.ts';
import type { Mapping, StepCondition } from '../canonical.ts';
import { childOf, type SourceValue } from '../compilation.ts';
import { condition, expression, isConstant, toMapping } from '../expressions/mapping.ts';
import { parseReference } from '../expressions/reference.ts';
import { namedField, refuse, type SourceField } from '../field.ts';
import { readValue } from '../source/read-value.ts';
import { Unusable } from '../source/source-tree.ts';

const QUOTED = /^'([^'\\]*)'$|^"([^"\\]*)"$/;

/** A classic mapping: values by name, each a reference, JSON in a text, or a plain value; or one such value. */
export const classicMapping: SourceField<Mapping> = namedField('classicMapping', (at) => {
  const { value } = at;
  if (!isObject(value)) return toEntry(at);
  const entries = Object.entries(value).map(
    ([name, item]) => [name, toEntry(childOf(at, name, item ?? null))] as const,
  );
  if (entries.some(([, item]) => item === undefined)) return undefined;
  const object = Object.fromEntries(entries) as Record<string, Mapping>;
  return at.in.from(at, Object.values(object).every(isConstant) ? constantOf(object) : { object });
});

const constantOf = (object: Record<string, Mapping>): Mapping => ({
  value: Object.fromEntries(Object.entries(object).map(([name, item]) => [name, (item as { value: Json }).value])),
});

/** Named outputs of a classic step. */
export const classicOutput: SourceField<Readonly<Record<string, Mapping>>> = {
  schema: { type: 'object', additionalProperties: { $ref: '#/$defs/classicMapping' } },
  read(at) {
    if (!isObject(at.value)) return refuse(at, 'an object of names and references');
    const entries = Object.entries(at.value).map(
      ([name, item]) => [name, toEntry(childOf(at, name, item ?? null))] as const,
    );
    return Object.fromEntries(entries.flatMap(([name, item]) => (item ? [[name, item]] : [])));
  },
};

/** Compiles one value. A text that is no reference is its JSON value when it parses, else the text. */
function toEntry(at: SourceValue): Mapping | undefined {
  const found = toMapping(at);
  if (typeof at.value !== 'string' || !found || !isConstant(found) || found.value !== at.value) return found;
  try {
    return at.in.from(at, { value: readValue(JSON.parse(at.value)).value });
  } catch (thrown) {
    if (!(thrown instanceof Unusable)) return found;
    const { code, message, fix } = thrown;
    return at.in.report(at, { code, message, fix });
  }
}

/** A single reference or literal counts by JavaScript truthiness; anything longer is CEL. */
export const classicCondition: SourceField<StepCondition> = namedField('classicCondition', (at) => {
  const single = toSingle(at.value, at);
  return single ? at.in.from(at, { truthy: single }) : condition.read(at);
});

function toSingle(value: Json, at: SourceValue): Mapping | undefined {
  if (typeof value === 'boolean' || typeof value === 'number' || value === null) return { value };
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  const ref = parseReference(text, 'classic');
  if (ref) return at.in.from(at, { ref });
  const quoted = QUOTED.exec(text);
  if (quoted) return { value: quoted[1] ?? quoted[2] ?? '' };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

/** A list to split: a reference, a list, a list as JSON in a text, or CEL. */
export const splitExpression: SourceField<Mapping> = namedField('expression', (at) => {
  const found = typeof at.value === 'string' && at.value.trim().startsWith('[') ? toEntry(at) : undefined;
  return found && isConstant(found) && Array.isArray(found.value) ? found : expression.read(at);
});
