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

/** Converts an entry to a host's format. Returns undefined and reports the reason if the host cannot run it. */
export function toEntry(ours: JsonObject, dialect: HostDialect, report: Report): HostEntry | undefined {
  const type = transportOf(ours);
  if (!(dialect.transports as readonly string[]).includes(type)) {
    report.note(`It is left out: ${dialect.title} has no servers of \`type\` \`${type}\` in this file.`);
    return undefined;
  }
  const untranslated: JsonPath[] = [];
  const { rest, named } = dialect.variables?.to(ours) ?? { rest: ours, named: {} };
  const translated = writeMembers(rest, { dialect, report, untranslated });
  if (translated === undefined) return undefined;
  noteLost(ours, dialect, report);
  if (dialect.untyped && type === 'sse') report.note(`\`type\` is left out: ${dialect.title} detects it.`);
  return { entry: { ...(dialect.wrap?.({ type, ...translated }) ?? translated), ...named }, untranslated };
}

export function transportOf({ type, command }: JsonObject): string {
  return typeof type === 'string' ? type : command === undefined ? 'http' : 'stdio';
}

interface WriteOptions {
  readonly dialect: HostDialect;
  readonly report: Report;
  readonly untranslated: JsonPath[];
}

function writeMembers(ours: JsonObject, writing: WriteOptions): JsonObject | undefined {
  const { dialect, report, untranslated } = writing;
  let translated: JsonObject = {};
  for (const one of dialect.lenses) {
    const value = readDotted(ours, one.ours);
    if (value === undefined) continue;
    const codec: Codec = CODECS[one.as];
    const host = codec.to(value, (text, part) => toHostSyntax(text, { one, part, ...writing }));
    if (host !== undefined) translated = writtenDotted(translated, one.host, host);
    else if (ESSENTIAL.includes(one.ours)) {
      report.note(`The server is left out: without \`${one.ours}\` it would be another one.`);
      return undefined;
    } else {
      untranslated.push(one.host.split('.'));
      report.note(`\`${one.ours}\` is left out.`);
    }
  }
  return translated;
}

function toHostSyntax(
  text: string,
  {
    one,
    part,
    dialect,
    report,
    untranslated,
  }: WriteOptions & { readonly one: Lens; readonly part: string | undefined },
): string | undefined {
  const translated = translate(text, heddle, dialect.syntax);
  if (!('lost' in translated)) return translated.text;
  const inside = part === undefined ? [] : [part];
  untranslated.push([...one.host.split('.'), ...inside]);
  const name = [one.ours, ...inside].join('.');
  report.note(
    `\`${name}\` cannot be carried over: ${dialect.title} cannot write ${translated.lost} there as Heddle means it.`,
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

/** Reports fields that a host does not have, except those with default values. */
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
