import type { Finding } from '../../core/records/finding.ts';
import { ToolFailure } from '../tool-failure.ts';
import type { Connections } from './connections.ts';
import type { ConnectionOptions } from './database.ts';

const TIMEOUT_MS = 10_000;

/** Opens each connection, for `heddle doctor`. Names no address, user or password. */
export async function examineConnections(connections: Connections, signal: AbortSignal): Promise<readonly Finding[]> {
  const found = await Promise.all(connections.list().map((one) => examine(connections, one, signal)));
  return found.flat();
}

async function examine(
  connections: Connections,
  { name, type, access }: ConnectionOptions,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const subject = `database ${name}`;
  try {
    const warnings = await connections.use(name, { signal, timeoutMs: TIMEOUT_MS }, async (one) => one.warnings);
    return [
      { level: 'ok', subject, message: `${type}, ${access === 'read' ? 'read only' : 'read and write'}` },
      ...warnings.map((message): Finding => ({ level: 'warn', subject, message })),
    ];
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure)) throw thrown;
    return [{ level: 'error', subject, message: thrown.message }];
  }
}
