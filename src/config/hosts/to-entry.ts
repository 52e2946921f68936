import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { JsonPath } from '../document.ts';
import { TREATMENT_DEFAULTS } from '../schema/defaults.ts';
import { CODECS, type Codec } from './codec.ts';
import type { HostDialect, Lens } from './dialect.ts';
import { readDotted, unknownNames, writtenDotted } from './dotted.ts';
import { ESSENTIAL, type Report } from './from-entry.ts';
import type { HostEntry } from './merge-entry.ts';
import { heddle, translate } from './template.ts';

/** One entry of ours as a host writes it; undefined when the host cannot run it, and the report says why. */
export function toEntry(ours: JsonObject, dialect: HostDialect, report: Report): HostEntry | undefined {
  const type = transportOf(ours);
  if (!(dialect.transports as readonly string[]).includes(type)) {
    report.note(`It is left out: ${dialect.title} has no servers of \`type\` \`${type}\` in this file.`);
    return undefined;
  }
  const unsaid: JsonPath[] = [];
  const { rest, named } = dialect.variables?.to(ours) ?? { rest: ours, named: {} };
  const said = writeMembers(rest, { dialect, report, unsaid });
  if (said === undefined) return undefined;
  noteLost(ours, dialect, report);
  if (dialect.untyped && type === 'sse') report.note(`\`type\` is left out: ${dialect.title} finds it out by itself.`);
  return { entry: { ...(dialect.wrap?.({ type, ...said }) ?? said), ...named }, unsaid };
}

export function transportOf({ type, command }: JsonObject): string {
  return typeof type === 'string' ? type : command === undefined ? 'http' : 'stdio';
}

interface Writing {
  readonly dialect: HostDialect;
  readonly report: Report;
  readonly unsaid: JsonPath[];
}

function writeMembers(ours: JsonObject, writing: Writing): JsonObject | undefined {
  const { dialect, report, unsaid } = writing;
  let said: JsonObject = {};
  for (const one of dialect.lenses) {
    const value = readDotted(ours, one.ours);
    if (value === undefined) continue;
    const codec: Codec = CODECS[one.as];
    const host = codec.to(value, (text, part) => inTheirWords(text, { one, part, ...writing }));
    if (host !== undefined) said = writtenDotted(said, one.host, host);
    else if (ESSENTIAL.includes(one.ours)) {
      report.note(`The server is left out: without \`${one.ours}\` it would be another one.`);
      return undefined;
    } else {
      unsaid.push(one.host.split('.'));
      report.note(`\`${one.ours}\` is left out.`);
    }
  }
  return said;
}

function inTheirWords(
  text: string,
  { one, part, dialect, report, unsaid }: Writing & { readonly one: Lens; readonly part: string | undefined },
): string | undefined {
  const said = translate(text, heddle, dialect.syntax);
  if (!('lost' in said)) return said.text;
  const inside = part === undefined ? [] : [part];
  unsaid.push([...one.host.split('.'), ...inside]);
  const name = [one.ours, ...inside].join('.');
  report.note(
    `\`${name}\` cannot be carried over: ${dialect.title} cannot write ${said.lost} there as Heddle means it.`,
  );
  return undefined;
}

function noteLost(ours: JsonObject, { lenses, switches, title }: HostDialect, { note }: Report): void {
  const known = ['type', ...lenses.map((one) => one.ours), ...(switches ? ['enabled'] : [])];
  noteUnknown(ours, { known, title, note });
}

interface Known {
  readonly known: readonly string[];
  readonly title: string;
  note(text: string): void;
}

/** Says which fields of ours a host has nothing for, unless they are only the defaults spelt out. */
export function noteUnknown(ours: JsonObject, { known, title, note }: Known): void {
  for (const name of unknownNames(ours, known)) {
    if (!isDefault(name, readDotted(ours, name))) note(`\`${name}\` is left out: ${title} has no such setting.`);
  }
}

function isDefault(name: string, value: Json | undefined): boolean {
  const text = canonicalJson(value);
  const preset = Object.hasOwn(TREATMENT_DEFAULTS, name)
    ? canonicalJson(TREATMENT_DEFAULTS[name as keyof typeof TREATMENT_DEFAULTS] as Json)
    : undefined;
  return text === '{}' || text === preset;
}
