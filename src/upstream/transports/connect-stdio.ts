import type { StdioEntry } from '../../config/schema/schema.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Connect } from '../connection.ts';
import { raiseTimeout } from '../protocol/connect-timeout.ts';
import { openConnection } from '../protocol/open-connection.ts';
import { childEnvironment } from './child-environment.ts';
import { StdioClientTransport } from './stdio-transport.ts';

const MAX_QUOTE_CHARS = 400;
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
  const facts = [
    died ? `${server} ended before it was ready: ${died}.` : `${server} started, but: ${error.message}`,
    garbage > 0 && `It printed ${garbage} ${garbage === 1 ? 'line' : 'lines'} that are not JSON.`,
    quoted(transport.stderr()),
  ];
  return new UpstreamError('UPSTREAM_UNREACHABLE', facts.filter(Boolean).join(' '), {
    delivered: 'no',
    cause: error,
    fix: died ? `${BY_HAND}.` : `${raiseTimeout(server)}; ${BY_HAND.toLowerCase()}.`,
  });
}

function quoted(stderr: string): string {
  const text = stderr.trim().replace(/\s+/g, ' ');
  return text && `The end of its stderr: ${text.slice(-MAX_QUOTE_CHARS)}`;
}
