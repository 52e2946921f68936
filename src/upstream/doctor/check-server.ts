import type { JsonObject } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Servers } from '../servers.ts';

const MAX_QUOTE_CHARS = 200;

/** Connects one server and tells in one line how that went. Throws NAME_UNKNOWN when there is none of that name. */
export async function checkServer(servers: Servers, name: string, signal: AbortSignal): Promise<Finding> {
  const { status, lastWords } = await connectAndList(servers, name, signal);
  const finding = connectVerdict(status);
  if (status.state !== 'connected') return finding;
  const { tools = 0 } = status;
  const quote = lastWords.at(-1) ? `; it last said on stderr: ${lastWords.at(-1)}` : '';
  return { ...finding, message: `${finding.message}, ${count(tools, 'tool')}${quote}` };
}

/** Connects it; the state it is in afterwards, whatever came of that, the last it said on stderr, by line, and what of its messages was of no use. */
export async function connectAndList(servers: Servers, name: string, signal: AbortSignal) {
  const statusNow = () => servers.status().find((one) => one.name === name);
  const connection = await servers.connect(name, signal).catch((thrown) => {
    if (!statusNow()) throw thrown;
    return undefined; // The status says why it failed, and quotes it.
  });
  const lines = (connection?.stderrTail() ?? '').split('\n').map((line) => line.trim().slice(0, MAX_QUOTE_CHARS));
  const lastWords = lines.filter((line) => line !== '');
  return { status: statusNow() as ServerStatus, lastWords, dropped: connection?.dropped() };
}

/** How a server is, in one line. */
export function connectVerdict({ name, state, reason, fix, health, info }: ServerStatus): Finding {
  const subject = `server ${name}`;
  const facts = { state, health, ...(reason !== undefined && { reason }) };
  if (state === 'disabled') return { level: 'ok', subject, message: 'disabled', facts };
  const advice = fix === undefined ? {} : { fix };
  if (state !== 'connected') {
    return { level: 'error', subject, message: `${state}: ${reason ?? 'no reason known'}`, ...advice, facts };
  }
  const { era, protocolVersion, connectMs } = info ?? {};
  const trouble = reason === undefined ? '' : `, but ${health === 'unhealthy' ? 'unhealthy: ' : ''}${reason}`;
  const message = `connected in ${connectMs} ms, protocol ${protocolVersion} (${era})${trouble}`;
  const level = trouble === '' && health !== 'unhealthy' ? 'ok' : 'warn';
  return { level, subject, message, ...advice, facts: { ...facts, connectMs, protocolVersion, era } as JsonObject };
}

export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
