import type { StdioEntry } from '../../config/schema/schema.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Connect } from '../connection.ts';
import { raiseTimeout } from '../protocol/connect-timeout.ts';
import { openConnection } from '../protocol/open-connection.ts';
import { stderrReason } from './stderr-reason.ts';
import { StdioClientTransport } from './stdio-transport.ts';

const BY_HAND = 'Run its command by hand to see what it prints';

/** Starts a local server as a child process and connects over its pipes. */
export function connectStdio(entry: StdioEntry, watchdog: Watchdog, env = process.env): Connect {
  return async function connectStdio(options) {
    const { command, args, cwd } = entry;
    const transport = new StdioClientTransport({
      server: options.server,
      watchdog,
      command,
      args,
      cwd,
      env: childEnvironment(env, entry.env),
      onTrouble: options.onTrouble,
      maxLineBytes: entry.maxMessageBytes,
    });
    try {
      return await openConnection({
        ...options,
        transport,
        stderrTail: () => transport.stderr(),
        ending: () => transport.ending(),
      });
    } catch (thrown) {
      throw explained(options.server, HeddleError.from(thrown), transport);
    }
  };
}

/** Adds to a failed handshake how the process ended and what it printed. */
function explained(server: string, error: HeddleError, transport: StdioClientTransport): HeddleError {
  const died = error.code === 'UPSTREAM_FAILED' ? transport.ending() : undefined;
  const silent = error.code === 'UPSTREAM_TIMEOUT';
  if (!died && !silent) return error;
  const { garbage } = transport.counts;
  const reason = stderrReason(transport.stderr());
  const facts = [
    died ? `${server} ended before it was ready: ${died}.` : `${server} started, but: ${error.message}`,
    garbage > 0 && `It printed ${garbage} ${garbage === 1 ? 'line' : 'lines'} that are not JSON.`,
    reason && `Its stderr: ${reason}`,
  ];
  return new UpstreamError('UPSTREAM_UNREACHABLE', facts.filter(Boolean).join(' '), {
    delivered: 'no',
    cause: error,
    fix: fixFor(reason) ?? (died ? `${BY_HAND}.` : `${raiseTimeout(server)}; ${BY_HAND.toLowerCase()}.`),
  });
}

/** Returns the fix for a reason that neither more time nor a run by hand mends: an unknown package or address. */
function fixFor(reason: string): string | undefined {
  if (/^npm (?:error|ERR!) 404\b|not found in the package registry/.test(reason)) {
    return 'Check the name of the package in its command.';
  }
  const [, code, at] = /\b(ECONNREFUSED|ENOTFOUND)\b(?: (\S+))?/.exec(reason) ?? [];
  if (code === undefined) return undefined;
  const target = at === undefined ? 'the address that it connects to' : at.replace(/[.,;)]+$/, '');
  return code === 'ENOTFOUND'
    ? `Check the host name in its settings: ${target} is unknown.`
    : `Check that a server runs at ${target}.`;
}
