import type { Finding } from '../core/finding.ts';
import type { ServerStatus } from '../core/server-status.ts';
import type { Servers } from './servers.ts';

const MAX_QUOTE_CHARS = 200;

/** Connects one server and tells how that went. Throws NAME_UNKNOWN when there is none of that name. */
export async function examineServer(servers: Servers, name: string, signal: AbortSignal): Promise<Finding> {
  const status = () => servers.status().find((one) => one.name === name);
  const lastWords = await servers.connect(name, signal).then(
    (connection) => connection.lastWords().trim().split('\n').at(-1),
    (thrown) => {
      if (!status()) throw thrown;
      return undefined; // The status says why it failed.
    },
  );
  return findingOf(status() as ServerStatus, lastWords);
}

function findingOf({ name, state, reason, fix, info, tools }: ServerStatus, lastWords: string | undefined): Finding {
  const subject = `server ${name}`;
  if (state === 'disabled') return { level: 'ok', subject, message: 'disabled' };
  if (state !== 'connected') {
    return { level: 'error', subject, message: `${state}: ${reason ?? 'no reason known'}`, ...(fix && { fix }) };
  }
  const { era, protocolVersion, connectMs } = info ?? {};
  const message = `connected in ${connectMs} ms, protocol ${protocolVersion} (${era}), ${tools} tools`;
  const quote = lastWords && `; it last said on stderr: ${lastWords.slice(0, MAX_QUOTE_CHARS)}`;
  return { level: 'ok', subject, message: `${message}${quote ?? ''}` };
}
