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

/** Starts a local MCP server as a child process and speaks MCP over its pipes. */
export function connectStdio(entry: StdioEntry, watchdog: Watchdog, env = process.env): Connect {
  return async function connectStdio(options) {
    const { command, args, cwd } = entry;
    const line = new StdioClientTransport({
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
        transport: line,
        stderrTail: () => line.stderr(),
        ending: () => line.ending(),
      });
    } catch (thrown) {
      throw explained(options.server, HeddleError.from(thrown), line);
    }
  };
}

/** A handshake that failed, with all that the process let us know: how it ended, what it printed. */
function explained(server: string, error: HeddleError, line: StdioClientTransport): HeddleError {
  const died = error.code === 'UPSTREAM_FAILED' ? line.ending() : undefined;
  const silent = error.code === 'UPSTREAM_TIMEOUT';
  if (!died && !silent) return error;
  const { garbage } = line.counts;
  const facts = [
    died ? `${server} ended before it was ready: ${died}.` : `${server} started, but: ${error.message}`,
    garbage > 0 && `It printed ${garbage} ${garbage === 1 ? 'line' : 'lines'} that are not JSON.`,
    quoted(line.stderr()),
  ];
  return new UpstreamError('UPSTREAM_UNREACHABLE', facts.filter(Boolean).join(' '), {
    delivered: 'no',
    cause: error,
    fix: died ? `${BY_HAND}.` : `${raiseTimeout(server)}; ${BY_HAND.toLowerCase()}.`,
  });
}

function quoted(stderr: string): string {
  const text = stderr.trim().replace(/\s+/g, ' ');
  return text && `Its last words: ${text.slice(-MAX_QUOTE_CHARS)}`;
}
