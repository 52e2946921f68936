import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { PastedContext, PastedInput, PastedReport } from './pasted-step.ts';
import { isGemini } from './pasted-timeout.ts';
import { bareDollar, heddle, translate, variableNamed } from './template.ts';

const TEXT_FIELDS = ['command', 'args', 'env', 'environment', 'cwd', 'url', 'headers', 'oauth', 'httpUrl', 'serverUrl'];
const INPUT = /\$\{input:([^}]+)\}/g;
const CURLY = /(?<!\$)\{env:([A-Za-z_]\w*)\}/g;
const BARE = /^(?:[A-Za-z]+ )?\$([A-Za-z_]\w*)$/;

/** Reads the `inputs` of VS Code, by id. */
export function readInputs(list: Json | undefined): ReadonlyMap<string, PastedInput> {
  const items = Array.isArray(list) ? list.filter(isObject) : [];
  return new Map(items.flatMap((item) => (typeof item.id === 'string' ? [[item.id, toInput(item)] as const] : [])));
}

const toInput = (item: JsonObject): PastedInput => ({
  ...(typeof item.description === 'string' && { description: item.description }),
  // The default of a password would be a secret in the file.
  ...(typeof item.default === 'string' &&
    item.default !== '' &&
    item.password !== true &&
    !/[{}]/.test(item.default) && { default: item.default }),
});

/** Translates the references of other hosts in the texts of an entry: `${input:id}`, `{env:NAME}`, `$NAME`. */
export function withHeddleReferences(entry: JsonObject, report: PastedReport, context: PastedContext): JsonObject {
  const isBare = isGemini(entry);
  const toHeddle = (text: string, name: string): string => {
    if (isBare) return dollarNames(text);
    const bare = BARE.exec(text)?.[1];
    if (bare !== undefined) {
      report.note(`\`${name}\` is the plain text \`$${bare}\`. Write \`\${${bare}}\` if it means the variable.`);
    }
    const named = context.isOpencode ? text.replace(CURLY, (_, variable: string) => `\${${variable}}`) : text;
    return named.replace(INPUT, (_, id: string) => referenceTo(id, name));
  };
  const referenceTo = (id: string, name: string): string => {
    const variable = variableNamed(id);
    const { description, default: preset } = context.inputs.get(id) ?? {};
    const reading = `Heddle reads it from the variable \`${variable}\``;
    const about = description === undefined ? '' : ` (${description})`;
    if (preset !== undefined) {
      report.note(`\`${name}\`: its host asks for \`${id}\`${about}; ${reading}, or takes \`${preset}\`.`);
      return `\${${variable}:-${preset}}`;
    }
    report.note(`\`${name}\`: its host asks for \`${id}\`${about}; ${reading}. Set it.`);
    return `\${${variable}}`;
  };
  const visit = (value: Json, name: string): Json => {
    if (typeof value === 'string') return toHeddle(value, name);
    if (Array.isArray(value)) return value.map((item: Json, index) => visit(item, `${name}[${index}]`));
    if (!isObject(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item ?? null, `${name}.${key}`)]));
  };
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [key, TEXT_FIELDS.includes(key) ? visit(value ?? null, key) : value]),
  );
}

function dollarNames(text: string): string {
  const translated = translate(text, bareDollar, heddle);
  return 'lost' in translated ? text : translated.text;
}
