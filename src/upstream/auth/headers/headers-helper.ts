import { createHash } from 'node:crypto';
import { helperCommand } from '../../../config/schema/helper-command.ts';
import { HeddleError, UpstreamError } from '../../../core/errors.ts';
import { isObject, parseJson } from '../../../core/json.ts';
import { runCommand } from '../../../process/run-command.ts';
import type { Watchdog } from '../../../process/watchdog.ts';
import type { CredentialKind } from '../remembering-credential.ts';

export interface HeadersHelperOptions {
  readonly server: string;
  readonly url: string;
  /** A line for `/bin/sh -c`, or a program with its arguments. */
  readonly command: string | readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly watchdog: Watchdog;
  readonly timeoutMs?: number;
}

type Headers = Readonly<Record<string, string>>;

const HELPER_MS = 10_000;
const MAX_BYTES = 64 * 1024;
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/;
// Field values of RFC 9110: no CR, LF or other control characters, and nothing that Node cannot send.
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
// Headers of the transport itself. A helper that changed them would break the protocol.
const RESERVED = new Set(['content-length', 'transfer-encoding', 'connection', 'host', 'upgrade', 'content-type']);

/** The headers that a command prints as JSON. It runs at each connect, and once when its headers are refused. */
export function headersHelper(options: HeadersHelperOptions): CredentialKind {
  const { server } = options;
  let current: Headers | undefined;
  let running: Promise<Headers> | undefined;

  function run(signal: AbortSignal): Promise<Headers> {
    running ??= runHelper(options, signal)
      .then((headers) => {
        current = headers;
        return headers;
      })
      .finally(() => {
        running = undefined;
      });
    return running;
  }

  return {
    fix: `Run the command in \`headersHelper\` of ${server} by hand: it has to print the headers as a JSON object.`,
    async prepare(signal) {
      await run(signal);
    },
    headersFor: ({ signal }) => current ?? run(signal ?? new AbortController().signal),
    async onRefused({ isRetry, sent }, signal) {
      if (isRetry) return false;
      // Of several requests that are refused together, the first runs the helper.
      if (current && !isSame(current, sent)) return true;
      const before = current;
      await run(signal);
      return before !== undefined;
    },
    fingerprint: () => (current ? createHash('sha256').update(JSON.stringify(current)).digest('hex').slice(0, 16) : ''),
  };
}

const isSame = (one: Headers, other: Headers): boolean => JSON.stringify(one) === JSON.stringify(other);

async function runHelper(options: HeadersHelperOptions, signal: AbortSignal): Promise<Headers> {
  const { command: line, timeoutMs = HELPER_MS, watchdog } = options;
  const [command = '', ...args] = helperCommand(line);
  const request = { command, args, env: helperEnvironment(options), timeoutMs, maxBytes: MAX_BYTES, signal };
  const result = await runCommand(request, watchdog);
  if (signal.aborted)
    throw new HeddleError('CALL_CANCELLED', `The \`headersHelper\` of ${options.server} was cancelled.`);
  if (result.kind === 'failed') throw unusable(options, result.reason);
  const headers = headersIn(result.stdout);
  if (typeof headers === 'string') throw unusable(options, headers);
  return headers;
}

/** Returns the environment of the helper: ours without Heddle's own settings, and which server it is for. */
function helperEnvironment({ server, url, env }: HeadersHelperOptions): Record<string, string> {
  const own = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return {
    ...Object.fromEntries(own.filter(([name]) => !name.startsWith('HEDDLE_'))),
    HEDDLE_SERVER_NAME: server,
    HEDDLE_SERVER_URL: url,
    CLAUDE_CODE_MCP_SERVER_NAME: server,
    CLAUDE_CODE_MCP_SERVER_URL: url,
  };
}

/** Returns the printed headers, or what is wrong with them. Never quotes them: they are secrets. */
function headersIn(stdout: string): Headers | string {
  if (stdout.trim() === '') return 'printed nothing';
  let printed: unknown;
  try {
    printed = parseJson(stdout, { maxChars: MAX_BYTES });
  } catch {
    return 'printed something other than JSON';
  }
  if (!isObject(printed)) return 'printed JSON that is not an object';
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(printed)) {
    if (typeof value !== 'string') return 'printed a header whose value is not a string';
    if (!HEADER_NAME.test(name) || !HEADER_VALUE.test(value)) return 'printed a header that HTTP does not allow';
    if (!RESERVED.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
  }
  return Object.keys(headers).length === 0 ? 'printed no header' : headers;
}

function unusable({ server, url }: HeadersHelperOptions, reason: string): UpstreamError {
  const message = `The headers for ${server} (${shown(url)}) are missing: its \`headersHelper\` ${reason}.`;
  const fix = `Run the command in \`headersHelper\` of ${server} by hand, and mend it.`;
  return new UpstreamError('AUTH_NEEDED', message, { delivered: 'no', details: { server, reason }, fix });
}

// Omits the query, which may hold secrets.
function shown(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin === 'null' ? url.replace(/[?#].*/, '') : `${origin}${pathname}`;
}
