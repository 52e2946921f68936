import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { checkEntry } from '../edit/check-entry.ts';
import { CODECS, type Codec } from './codec.ts';
import type { HostDialect, Lens } from './dialect.ts';
import { readDotted, unknownNames, writtenDotted } from './dotted.ts';
import { heddle, translate, variableNamed } from './template.ts';

/** Receives the notes and problems of a conversion. */
export interface Report {
  note(text: string): void;
  /** Reports an error; `key` is the dotted name within the entry, for the location in the file. */
  problem(message: string, fix: string, key?: string): void;
}

/** Heddle's `type` for the names that hosts give transports. */
export const TRANSPORT_NAMES: Readonly<Record<string, string>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  streamable: 'http',
  sse: 'sse',
  ws: 'ws',
  websocket: 'ws',
};
const LOCAL_FIELDS = ['command', 'args', 'env', 'cwd'];
const REMOTE_FIELDS = ['url', 'headers', 'headersHelper', 'oauth'];
/** The fields without which an entry cannot be converted: they identify the server. */
export const ESSENTIAL: readonly string[] = ['command', 'args', 'url'];

/** Converts an entry of a host to Heddle's format. Returns undefined and reports the reason if it cannot. */
export function fromEntry(entry: JsonObject, dialect: HostDialect, report: Report): JsonObject | undefined {
  const skipped = dialect.skipReason?.(entry);
  if (skipped !== undefined) {
    report.note(`It is left out: ${skipped}`);
    return undefined;
  }
  let broken = false;
  const reject = (key: string, expects: string): void => {
    report.problem(`\`${key}\` must be ${expects}.`, 'Correct the value.', key);
    broken = true;
  };
  const { rest, named } = dialect.variables?.from(entry, reject) ?? { rest: entry, named: {} };
  const { type, ...written } = dialect.unwrap?.(rest) ?? rest;
  const { members, isOff } = withoutSwitch(written, dialect);
  const found = readMembers(members, dialect, { ...report, reject });
  if (found === undefined || broken) return undefined;
  noteOthers(members, dialect, report);
  if (isOff) report.note('`disabled` becomes `enabled: false`.');
  const whole = { ...found, ...added(found, named), ...(isOff && { enabled: false }) };
  const kind = kindOf(whole, type, report);
  return kind === undefined ? undefined : finished(whole, kind, report);
}

/** Takes `disabled` out of the entry of a host without such a setting: its files have it anyway, from other hosts. */
function withoutSwitch(written: JsonObject, { lenses }: HostDialect): { members: JsonObject; isOff: boolean } {
  const { disabled, ...members } = written;
  const isKnown = lenses.some(({ ours }) => ours === 'enabled');
  return isKnown || typeof disabled !== 'boolean' ? { members: written, isOff: false } : { members, isOff: disabled };
}

function added(found: JsonObject, named: JsonObject): JsonObject {
  const maps = Object.entries(named).map(([key, map]) => [
    key,
    { ...(found[key] as JsonObject), ...(map as JsonObject) },
  ]);
  return Object.fromEntries(maps);
}

type RejectingReport = Report & { reject(key: string, expects: string): void };

function readMembers(members: JsonObject, dialect: HostDialect, report: RejectingReport): JsonObject | undefined {
  let found: JsonObject = {};
  let lost = false;
  for (const one of dialect.lenses) {
    const value = readDotted(members, one.host);
    if (value === undefined || value === null) continue;
    const codec: Codec = CODECS[one.as];
    if (!codec.accepts(value)) {
      report.reject(one.host, codec.expects);
      continue;
    }
    const translated = codec.from(value, (text, part) => toHeddleSyntax(text, nameIn(one, part), dialect, report));
    if (translated !== undefined) found = carried(found, one, translated);
    else if (ESSENTIAL.includes(one.ours)) lost = true;
    else report.note(`\`${one.host}\` is left out.`);
    if (one.warning !== undefined) report.note(`\`${one.host}\`: ${one.warning}`);
  }
  if (lost) report.note('The server is left out.');
  return lost ? undefined : found;
}

function carried(found: JsonObject, { ours }: Lens, translated: Json): JsonObject {
  return canonicalJson(translated) === '{}' ? found : writtenDotted(found, ours, translated);
}

const nameIn = ({ host }: Lens, part: string | undefined) => (part === undefined ? host : `${host}.${part}`);

function toHeddleSyntax(
  text: string,
  name: string,
  { title, syntax }: HostDialect,
  report: Report,
): string | undefined {
  const translated = translate(text, syntax, heddle);
  if ('lost' in translated) {
    report.note(
      `\`${name}\` cannot be carried over: Heddle cannot write ${translated.lost} there as ${title} means it.`,
    );
    return undefined;
  }
  for (const id of translated.inputs) {
    const variable = variableNamed(id);
    report.note(`\`${name}\`: ${title} asks for \`${id}\`; Heddle reads it from the variable \`${variable}\`. Set it.`);
  }
  return translated.text;
}

function noteOthers(members: JsonObject, { lenses, others = {}, title }: HostDialect, report: Report): void {
  const known = lenses.map(({ host }) => host);
  for (const name of unknownNames(members, known)) {
    const reason = Object.hasOwn(others, name) ? others[name] : `Heddle has no such setting of ${title}’s.`;
    if (reason !== '') report.note(`\`${name}\` is left out: ${reason}`);
  }
}

function kindOf(found: JsonObject, type: Json | undefined, report: Report): string | undefined {
  const transport =
    typeof type === 'string' && Object.hasOwn(TRANSPORT_NAMES, type) ? TRANSPORT_NAMES[type] : undefined;
  if (type !== undefined && transport === undefined) {
    report.problem(`\`type\` is ${JSON.stringify(type)}, which is no transport Heddle knows.`, 'Correct it.', 'type');
    return undefined;
  }
  const { command, url } = found;
  if (command !== undefined && url !== undefined && transport === undefined) {
    report.problem('There are both `command` and `url`.', 'Remove one of them.');
    return undefined;
  }
  const kind = transport ?? (command === undefined ? 'http' : 'stdio');
  const missing = kind === 'stdio' ? command === undefined && 'command' : url === undefined && 'url';
  if (missing === false) return kind;
  const either = transport === undefined ? 'There is neither `command` nor `url`.' : `\`${missing}\` is missing.`;
  report.problem(either, transport === undefined ? 'Add one of them.' : 'Add it.');
  return undefined;
}

/** Removes fields of another transport and validates the entry. */
function finished(found: JsonObject, kind: string, report: Report): JsonObject | undefined {
  const own = withoutStray(found, kind, report);
  const entry: JsonObject = kind === 'stdio' ? own : { type: kind, ...own };
  const [problem] = checkEntry('server', entry, { foreign: false, env: {} }).problems;
  if (problem === undefined) return entry;
  report.problem(problem.message.replaceAll('mcpServers.server.', ''), problem.fix);
  return undefined;
}

/** Removes the fields that a server of this kind cannot have, with a note for each. */
export function withoutStray(found: JsonObject, kind: string, report: Pick<Report, 'note'>): JsonObject {
  const others = kind === 'stdio' ? REMOTE_FIELDS : LOCAL_FIELDS;
  const stray = Object.keys(found).filter((name) => others.includes(name));
  for (const name of stray) report.note(`\`${name}\` is left out: it means nothing to a ${kind} server.`);
  return Object.fromEntries(Object.entries(found).filter(([name]) => !stray.includes(name)));
}
