import { basename } from 'node:path/posix';
import type { ServerEntry } from '../../config/schema/schema.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';

/** Deadline of the handshake and of each request for a list. */
export const CONNECT_MS = 15_000;
/** Deadline for a command that may download the server first. */
const INSTALL_MS = 60_000;

/** Commands that may download what they run, with the subcommands that do so; none when all may. */
const INSTALLERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  pnpx: [],
  bunx: [],
  uvx: [],
  dnx: [],
  npm: ['exec', 'x'],
  pnpm: ['dlx', 'exec'],
  yarn: ['dlx', 'exec'],
  bun: ['x', 'run'],
  uv: ['run', 'x'],
  pipx: ['run'],
  deno: ['run'],
  docker: ['run', 'compose'],
  podman: ['run', 'compose'],
  nerdctl: ['run', 'compose'],
  nix: ['run'],
  go: ['run'],
  cargo: ['run'],
  dotnet: ['run', 'tool'],
};

/** Returns the connect deadline of a server: its own, else the one for all servers, else the default. */
export function connectTimeoutOf(entry: ServerEntry | undefined, forAll: number | undefined): number {
  return entry?.connectTimeoutMs ?? forAll ?? (mayInstall(entry) ? INSTALL_MS : CONNECT_MS);
}

/** True when the command may download the server. Finds it behind `sh -c`, `cmd /c` and `env`, too. */
function mayInstall(entry: ServerEntry | undefined): boolean {
  if (entry?.type !== 'stdio') return false;
  const words = [entry.command, ...entry.args].flatMap((text) => text.split(/\s+/)).map(commandName);
  return words.some((word, at) => {
    const verbs = Object.hasOwn(INSTALLERS, word) ? INSTALLERS[word] : undefined;
    return verbs !== undefined && (verbs.length === 0 || words.slice(at + 1).some((next) => verbs.includes(next)));
  });
}

const commandName = (word: string) => basename(word.replaceAll('\\', '/')).replace(/\.(exe|cmd|bat|ps1)$/i, '');

/** Returns a fix that names the keys of the connect deadline. */
export const raiseTimeout = (server: string): string =>
  `Raise \`connectTimeoutMs\` of ${server}, or \`connect.timeoutMs\` for all servers, if it needs longer`;

export interface LateConnect {
  readonly server: string;
  /** The task as the end of "did not …", such as `answer the handshake`. */
  readonly task: string;
  readonly timeoutMs: number;
}

/** Turns the timeout of a connect request into an error that states the deadline and the key to raise it. */
export function orLateConnect(thrown: unknown, { server, task, timeoutMs }: LateConnect): unknown {
  if (!HeddleError.is(thrown) || thrown.code !== 'UPSTREAM_TIMEOUT') return thrown;
  const message = `${server} did not ${task} within ${timeoutMs} ms.`;
  return new UpstreamError('UPSTREAM_TIMEOUT', message, {
    delivered: 'no',
    cause: thrown,
    fix: `${raiseTimeout(server)}.`,
  });
}
