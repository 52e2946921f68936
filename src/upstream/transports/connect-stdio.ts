import { stripVTControlCharacters } from 'node:util';
import type { StdioEntry } from '../../config/schema/schema.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { counted, isOrAre } from '../../core/text/counted.ts';
import { childEnvironment } from '../../process/child-environment.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import { quoted } from './bad-message.ts';
import { startFix } from './start-fix.ts';
import { reasonLines, stderrReason } from './stderr-reason.ts';
import { StdioClientTransport } from './stdio-transport.ts';

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
      throw explained(HeddleError.from(thrown), transport, { server: options.server, own: entry.env, ours: env });
    }
  };
}

interface Setting {
  readonly own: Readonly<Record<string, string>>;
  readonly ours: Readonly<Record<string, string | undefined>>;
}

/** Adds to a failed handshake how the process ended and what it printed. */
function explained(
  error: HeddleError,
  transport: StdioClientTransport,
  start: Setting & { server: string },
): HeddleError {
  const { server } = start;
  const died = error.code === 'UPSTREAM_FAILED' ? transport.ending() : undefined;
  const silent = error.code === 'UPSTREAM_TIMEOUT';
  if (!died && !silent) return error;
  const { lines, first } = transport.stray;
  const stderr = transport.stderr();
  const reason = stderrReason(stderr);
  const unredacted = reasonLines(stderr).join(' ');
  const facts = [
    died ? `${server} ended before it was ready: ${died}.` : `${server} started, but: ${error.message}`,
    lines > 0 && `It printed ${counted(lines, 'line')} on stdout that ${isOrAre(lines)} not MCP: ${firstOf(first)}`,
    reason && `Its stderr: ${reason}`,
    lines === 0 && reason === '' && 'It printed nothing that says why.',
  ];
  return new UpstreamError('UPSTREAM_UNREACHABLE', facts.filter(Boolean).join(' '), {
    delivered: 'no',
    cause: error,
    fix: startFix({ ...start, ended: died !== undefined, reason, unredacted, stray: first }),
  });
}

const firstOf = (line: string) => `“${quoted(stripVTControlCharacters(line))}”.`;
