import type { Json, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import { checkEntry } from '../edit/check-entry.ts';
import { CODECS, type Codec } from './codec.ts';
import type { HostDialect, Lens } from './dialect.ts';
import { readDotted, unknownNames, writtenDotted } from './dotted.ts';
import { heddle, translate, variableNamed } from './template.ts';

/** Where the translators say what they met. */
export interface Report {
  note(text: string): void;
  /** `key` is the dotted name within the entry, for the place in the file. */
  problem(message: string, fix: string, key?: string): void;
}

const TRANSPORT_WORDS: Readonly<Record<string, string>> = {
  stdio: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  sse: 'sse',
  ws: 'ws',
  websocket: 'ws',
};
const LOCAL_FIELDS = ['command', 'args', 'env', 'cwd'];
const REMOTE_FIELDS = ['url', 'headers', 'headersHelper', 'oauth'];
/** Without these a server would be another one. */
export const ESSENTIAL: readonly string[] = ['command', 'args', 'url'];

/** One entry of a host as Heddle writes it; undefined when it cannot be, and the report says why. */
export function fromEntry(entry: JsonObject, dialect: HostDialect, report: Report): JsonObject | undefined {
  const skipped = dialect.skips?.(entry);
  if (skipped !== undefined) {
    report.note(`It is left out: ${skipped}`);
    return undefined;
  }
  let broken = false;
  const refuse = (key: string, expects: string): void => {
    report.problem(`\`${key}\` must be ${expects}.`, 'Correct the value.', key);
    broken = true;
  };
  const { rest, named } = dialect.variables?.from(entry, refuse) ?? { rest: entry, named: {} };
  const { type, ...members } = dialect.unwrap?.(rest) ?? rest;
  const found = readMembers(members, dialect, { ...report, refuse });
  if (found === undefined || broken) return undefined;
  noteOthers(members, dialect, report);
  const whole = { ...found, ...added(found, named) };
  const kind = kindOf(whole, type, report);
  return kind === undefined ? undefined : finished(whole, kind, report);
}

function added(found: JsonObject, named: JsonObject): JsonObject {
  const maps = Object.entries(named).map(([key, map]) => [
    key,
    { ...(found[key] as JsonObject), ...(map as JsonObject) },
  ]);
  return Object.fromEntries(maps);
}

type Refusing = Report & { refuse(key: string, expects: string): void };

function readMembers(members: JsonObject, dialect: HostDialect, report: Refusing): JsonObject | undefined {
  let found: JsonObject = {};
  let lost = false;
  for (const one of dialect.lenses) {
    const value = readDotted(members, one.host);
    if (value === undefined || value === null) continue;
    const codec: Codec = CODECS[one.as];
    if (!codec.fits(value)) {
      report.refuse(one.host, codec.expects);
      continue;
    }
    const said = codec.from(value, (text, part) => inOurWords(text, nameIn(one, part), dialect, report));
    if (said !== undefined) found = carried(found, one, said);
    else if (ESSENTIAL.includes(one.ours)) lost = true;
    else report.note(`\`${one.host}\` is left out.`);
    if (one.beware !== undefined) report.note(`\`${one.host}\`: ${one.beware}`);
  }
  if (lost) report.note('The server is left out.');
  return lost ? undefined : found;
}

function carried(found: JsonObject, { ours }: Lens, said: Json): JsonObject {
  return canonicalJson(said) === '{}' ? found : writtenDotted(found, ours, said);
}

const nameIn = ({ host }: Lens, part: string | undefined) => (part === undefined ? host : `${host}.${part}`);

function inOurWords(text: string, name: string, { title, syntax }: HostDialect, report: Report): string | undefined {
  const said = translate(text, syntax, heddle);
  if ('lost' in said) {
    report.note(`\`${name}\` cannot be carried over: Heddle cannot write ${said.lost} there as ${title} means it.`);
    return undefined;
  }
  for (const id of said.inputs) {
    const variable = variableNamed(id);
    report.note(`\`${name}\`: ${title} asks for \`${id}\`; Heddle reads it from the variable \`${variable}\`. Set it.`);
  }
  return said.text;
}

function noteOthers(members: JsonObject, { lenses, others = {}, title }: HostDialect, report: Report): void {
  const known = lenses.map(({ host }) => host);
  for (const name of unknownNames(members, known)) {
    const reason = Object.hasOwn(others, name) ? others[name] : `Heddle has no such setting of ${title}’s.`;
    if (reason !== '') report.note(`\`${name}\` is left out: ${reason}`);
  }
}

function kindOf(found: JsonObject, type: Json | undefined, report: Report): string | undefined {
  const word = typeof type === 'string' && Object.hasOwn(TRANSPORT_WORDS, type) ? TRANSPORT_WORDS[type] : undefined;
  if (type !== undefined && word === undefined) {
    report.problem(`\`type\` is ${JSON.stringify(type)}, which is no transport Heddle knows.`, 'Correct it.', 'type');
    return undefined;
  }
  const { command, url } = found;
  if (command !== undefined && url !== undefined && word === undefined) {
    report.problem('There are both `command` and `url`.', 'Remove one of them.');
    return undefined;
  }
  const kind = word ?? (command === undefined ? 'http' : 'stdio');
  const missing = kind === 'stdio' ? command === undefined && 'command' : url === undefined && 'url';
  if (missing === false) return kind;
  const either = word === undefined ? 'There is neither `command` nor `url`.' : `\`${missing}\` is missing.`;
  report.problem(either, word === undefined ? 'Add one of them.' : 'Add it.');
  return undefined;
}

/** The entry with what belongs to its kind and nothing else, when the schema takes it. */
function finished(found: JsonObject, kind: string, report: Report): JsonObject | undefined {
  const local = kind === 'stdio';
  const stray = Object.keys(found).filter((name) => (local ? REMOTE_FIELDS : LOCAL_FIELDS).includes(name));
  for (const name of stray) report.note(`\`${name}\` is left out: it means nothing to a ${kind} server.`);
  const own = Object.fromEntries(Object.entries(found).filter(([name]) => !stray.includes(name)));
  const entry: JsonObject = local ? own : { type: kind, ...own };
  const [problem] = checkEntry('server', entry, { foreign: false, env: {} }).problems;
  if (problem === undefined) return entry;
  report.problem(problem.message.replaceAll('mcpServers.server.', ''), problem.fix);
  return undefined;
}
