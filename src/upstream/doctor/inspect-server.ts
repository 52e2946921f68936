import type { ServerConfig } from '../../config/config.ts';
import type { RemoteEntry, StdioEntry } from '../../config/schema/schema.ts';
import type { JsonObject } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { examineEnclosure } from '../../process/check-process.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import { findProgram } from '../../process/find-program.ts';
import { unpassable } from '../../process/pid-namespace.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { DroppedCounts } from '../../wire/peer.ts';
import { NOT_EXECUTABLE_FIX } from '../transports/stdio-transport.ts';
import { connectAndList, connectVerdict, count, type ExaminedServer } from './check-server.ts';
import { reach } from './reach.ts';

const MAX_QUOTED_LINES = 5;

export interface Examination extends ExaminedServer {
  readonly watchdog: Watchdog;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly configOf: (name: string) => ServerConfig | undefined;
  /** Tests whether the vault has tokens for a server. */
  readonly isSignedIn?: (name: string, entry: RemoteEntry) => Promise<boolean>;
}

/** Connects one server and reports all findings about it. Throws NAME_UNKNOWN when it is not configured. */
export async function inspectServer(
  { watchdog, env, configOf, isSignedIn, ...examined }: Examination,
  name: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { status, stderrLines, dropped } = await connectAndList(examined, name, signal);
  // A disabled server is neither started nor reached, and its variables may be unset.
  if (status.state === 'disabled') return [connectVerdict(status)];
  const entry = configOf(name)?.entry;
  const isUp = status.state === 'connected';
  const way =
    entry?.type === 'stdio'
      ? await wayToProcess(entry as StdioEntry, watchdog, env)
      : entry && 'url' in entry && !entry.type.endsWith('-ide')
        ? [await examineAddress(entry, status, signal), signIn(entry, status, await isSignedIn?.(name, entry))]
        : [];
  return [
    connectVerdict(status),
    ...way,
    ...(isUp ? agreedWith(status) : []),
    ...useless(dropped),
    ...quoted(stderrLines),
  ];
}

async function wayToProcess(
  entry: StdioEntry,
  watchdog: Watchdog,
  env: Examination['env'],
): Promise<readonly Finding[]> {
  const { command, cwd = process.cwd() } = entry;
  const variables = childEnvironment(env, entry.env);
  const [found, namespace] = await Promise.all([
    findProgram(command, { path: variables.PATH, cwd }),
    watchdog.enclosure(),
  ]);
  const odd = 'enter' in namespace ? unpassable(variables) : undefined;
  const enclosure = odd === undefined ? namespace : { reason: `a shell would drop the variable ${odd}` };
  const subject = 'command';
  const fix = 'Correct `command`, give its full path, or install that program.';
  const nowhere = command.includes('/')
    ? `there is no ${command}${command.startsWith('/') ? '' : ` in ${cwd}`}`
    : `${command} is in none of these folders: ${variables.PATH ?? '(PATH is not set)'}`;
  const program: Finding =
    'file' in found
      ? { level: 'ok', subject, message: `${command} is ${found.file}, started in ${cwd}`, facts: { ...found, cwd } }
      : 'forbidden' in found
        ? {
            level: 'error',
            subject,
            message: `${found.forbidden} is not executable`,
            fix: NOT_EXECUTABLE_FIX,
          }
        : { level: 'error', subject, message: nowhere, fix };
  return [program, examineEnclosure(enclosure)];
}

async function examineAddress(entry: RemoteEntry, { state }: ServerStatus, signal: AbortSignal): Promise<Finding> {
  const url = new URL(entry.url);
  const subject = 'address';
  const { reason, ms, host, port } = await reach(url, signal);
  const where = `${host}, port ${port}`;
  const facts = { host, port, ...(ms !== undefined && { ms }) };
  const wrong = { fix: 'Check the `url`, whether the server runs, and whether a firewall or a proxy stands between.' };
  if (reason === undefined) return { level: 'ok', subject, message: `${where} answers (${ms} ms)`, facts };
  return state === 'connected'
    ? { level: 'ok', subject, message: `${where} is reached by a proxy; directly, ${reason}`, facts }
    : { level: 'error', subject, message: `${where} cannot be reached: ${reason}`, ...wrong, facts };
}

function signIn(entry: RemoteEntry, { state, fix }: ServerStatus, isSignedIn = false): Finding {
  const subject = 'sign-in';
  const shown = credentialOf(entry, isSignedIn);
  if (state === 'needs-auth') {
    const message = `the server requires another credential; ${shown}`;
    return { level: 'error', subject, message, ...(fix !== undefined && { fix }), facts: { needed: true } };
  }
  return { level: 'ok', subject, message: state === 'connected' ? `${shown}, and that is enough` : shown };
}

function credentialOf({ headers, headersHelper, oauth }: RemoteEntry, isSignedIn: boolean): string {
  const given = Object.keys(headers).find((name) => /^authorization$|key$|token$/i.test(name));
  if (headersHelper !== undefined) return 'its headers helper is used';
  if (isSignedIn) return 'tokens of a sign-in are stored';
  return oauth ? 'oauth is configured' : given ? `the header ${given} is sent` : 'no credential is configured';
}

function agreedWith(status: ServerStatus): readonly Finding[] {
  const { serverInfo = {}, capabilities = {} } = (status.info ?? {}) as Record<string, JsonObject>;
  const { name = 'a server without a name', version = '' } = serverInfo;
  const names = Object.keys(capabilities);
  const { tools = 0, resources = 0, templates = 0, prompts = 0 } = status;
  const lists = [count(tools, 'tool'), count(resources, 'resource'), count(templates, 'resource template')];
  return [
    { level: 'ok', subject: 'program', message: `it calls itself ${name} ${version}`.trimEnd(), facts: { serverInfo } },
    {
      level: 'ok',
      subject: 'capabilities',
      message: names.length === 0 ? 'it declares none' : names.join(', '),
      facts: { capabilities },
    },
    {
      level: 'ok',
      subject: 'lists',
      message: [...lists, count(prompts, 'prompt')].join(', '),
      facts: { tools, resources, templates, prompts },
    },
  ];
}

function useless(dropped: DroppedCounts | undefined): readonly Finding[] {
  const { malformed, unknown, stale } = dropped ?? { malformed: 0, unknown: 0, stale: 0 };
  const all = malformed + unknown + stale;
  if (all === 0) return [];
  // Late responses are no fault: their requests had been given up.
  const level = malformed + unknown > 0 ? 'warn' : 'ok';
  const message = `${all} of no use: ${malformed} malformed, ${unknown} answering nothing that was asked, ${stale} too late`;
  return [{ level, subject: 'messages', message, facts: { malformed, unknown, stale } }];
}

function quoted(lines: readonly string[]): readonly Finding[] {
  if (lines.length === 0) return [];
  const last = lines.slice(-MAX_QUOTED_LINES);
  return [{ level: 'ok', subject: 'last said on stderr', message: last.join('\n'), facts: { lines: last } }];
}
