import { compileValueExpression } from '../../../cel/value-expression.ts';
import type { Json, JsonObject } from '../../../core/call.ts';
import { isObject } from '../../../core/json.ts';
import type { Mapping, StepCondition } from '../canonical.ts';
import { childOf, type SourceValue } from '../compilation.ts';
import { namedField, refuse, type SourceField, shownValue } from '../field.ts';
import { type CelProblem, endOfExpression, rewriteCel } from './cel-text.ts';
import { isBrokenReference, parseReference } from './reference.ts';

const MENTIONS = /(?:^|\s)(\$(?:input|var|item|prev|steps|run)\.[\w.-]+)/;
const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/;

/** Compiles a value of a definition: references, expressions, and objects and lists of them. */
export function toMapping(at: SourceValue): Mapping | undefined {
  const { value } = at;
  const mapping = compileValue(at, value);
  return mapping && at.in.from(at, mapping);
}

function compileValue(at: SourceValue, value: Json): Mapping | undefined {
  if (typeof value === 'string') return textMapping(at, value);
  if (Array.isArray(value)) return listMapping(at, value);
  return isObject(value) ? objectMapping(at, value) : { value };
}

function listMapping(at: SourceValue, value: readonly Json[]): Mapping | undefined {
  const list = value.map((item, index) => toMapping(childOf(at, index, item)));
  if (!list.every((item) => item !== undefined)) return undefined;
  return list.every(isConstant) ? { value: list.map((item) => item.value) } : { list };
}

function objectMapping(at: SourceValue, value: JsonObject): Mapping | undefined {
  const entries = Object.entries(value).map(
    ([name, item]) => [name, toMapping(childOf(at, name, item ?? null))] as const,
  );
  const object = Object.fromEntries(entries) as Record<string, Mapping>;
  const mappings = Object.values(object);
  if (!mappings.every((item) => item !== undefined)) return undefined;
  if (!mappings.every(isConstant)) return { object };
  return {
    value: Object.fromEntries(Object.entries(object).map(([name, item]) => [name, (item as { value: Json }).value])),
  };
}

export const isConstant = (mapping: Mapping): mapping is { readonly value: Json } => 'value' in mapping;

/** Compiles a text: one reference, one expression, text with expressions, or plain text. */
function textMapping(at: SourceValue, text: string): Mapping | undefined {
  const ref = parseReference(text, at.in.form);
  if (ref) return { ref };
  if (text.includes('${{')) return templateMapping(at, text);
  if (isBrokenReference(text)) {
    return at.in.report(at, {
      code: 'REFERENCE_INVALID',
      message: `\`${shownValue(text)}\` begins like a reference, but is none.`,
      fix: 'Write `$name.field[0]["a key"]`, an expression `${{ … }}`, or `$$` for a literal `$`.',
    });
  }
  if (MENTIONS.test(text)) warnOfMention(at, text);
  return { value: text.startsWith('$$') && at.in.form === 'rich' ? text.slice(1) : text };
}

function warnOfMention(at: SourceValue, text: string): void {
  const mention = MENTIONS.exec(text)?.[1] ?? '';
  at.in.report(at, {
    level: 'warning',
    code: 'REFERENCE_IN_TEXT',
    message: `\`${shownValue(mention)}\` inside of a text is not replaced.`,
    fix: `Write \`\${{ ${shownValue(mention)} }}\`.`,
  });
}

type TemplatePart = string | { readonly cel: string };

function templateMapping(at: SourceValue, text: string): Mapping | undefined {
  const parts: TemplatePart[] = [];
  let literal = '';
  for (let from = 0; from < text.length; ) {
    const start = text.indexOf('${{', from);
    if (start < 0) {
      literal += text.slice(from);
      break;
    }
    if (text[start - 1] === '$' && start > from) {
      literal += `${text.slice(from, start - 1)}\${{`;
      from = start + 3;
      continue;
    }
    const end = endOfExpression(text, start + 3);
    if (end === undefined)
      return reportCel(at, { message: 'it has no `}}`', fix: 'End the expression with `}}`.', offset: start });
    const found = compileCel(at, text.slice(start + 3, end));
    if (!found) return undefined;
    literal += text.slice(from, start);
    if (literal !== '') parts.push(literal);
    literal = '';
    parts.push(found);
    from = end + 2;
  }
  if (literal !== '') parts.push(literal);
  return toTemplate(parts);
}

function toTemplate(parts: readonly TemplatePart[]): Mapping {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return typeof first === 'string' ? { value: first } : first;
  return { template: parts };
}

const reportCel = (at: SourceValue, { message, fix }: CelProblem): undefined =>
  at.in.report(at, {
    code: 'EXPRESSION_INVALID',
    message: `The expression \`${shownValue(at.value)}\` is not valid: ${message}.`,
    fix,
  });

/** Rewrites and checks the text of an expression. */
function compileCel(at: SourceValue, text: string, type = 'dyn'): { readonly cel: string } | undefined {
  const found = rewriteCel(text, at.in);
  if (!('cel' in found)) return reportCel(at, found);
  const compiled = compileValueExpression(found.cel);
  if ('message' in compiled) return reportCel(at, compiled);
  if (type !== 'dyn' && compiled.type !== 'dyn' && compiled.type !== type) {
    const message = `it is of type ${compiled.type}, not ${type}`;
    return reportCel(at, { message, fix: 'Write a condition, such as `$search.result.total > 0`.', offset: 0 });
  }
  return at.in.from(at, found);
}

/** Compiles a bare expression to CEL. `true` and `false` are expressions too. */
function toCel(at: SourceValue, type?: string): { readonly cel: string } | undefined {
  const { value } = at;
  if (typeof value === 'boolean') return at.in.from(at, { cel: String(value) });
  if (typeof value !== 'string' || value.trim() === '') {
    return refuse(at, 'an expression such as `$search.result.total > 0`');
  }
  return compileCel(at, wholeExpression(value.trim()), type);
}

/** `${{ x }}` around a bare expression is accepted. */
function wholeExpression(text: string): string {
  if (!text.startsWith('${{') || endOfExpression(text, 3) !== text.length - 2) return text;
  return text.slice(3, -2);
}

export const mapping: SourceField<Mapping> = namedField('mapping', toMapping);

/** The input of a tool: an object, or a reference or expression that gives one. */
export const inputMapping: SourceField<Mapping> = namedField('input', (at) => {
  const isPossible = isObject(at.value) || (typeof at.value === 'string' && at.value.startsWith('$'));
  return isPossible ? toMapping(at) : refuse(at, 'an object, a reference or an expression');
});

export const condition: SourceField<StepCondition> = namedField('condition', (at) => toCel(at, 'bool'));

/** A bare expression. One reference stays a reference. */
export const expression: SourceField<Mapping> = namedField('expression', (at) => {
  if (Array.isArray(at.value)) return toMapping(at);
  const ref = typeof at.value === 'string' ? parseReference(at.value.trim(), at.in.form) : undefined;
  return ref ? at.in.from(at, { ref }) : toCel(at);
});

/** A time: an expression, or a date and time of RFC 3339. */
export const timeExpression: SourceField<Mapping> = namedField('expression', (at) => {
  const { value } = at;
  if (typeof value !== 'string' || !TIME.test(value)) return expression.read(at);
  return Number.isNaN(Date.parse(value))
    ? refuse(at, 'a time such as `2026-08-01T12:00:00Z`')
    : at.in.from(at, { value });
});
