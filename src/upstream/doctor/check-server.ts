import type { Caller, JsonObject } from '../../core/call.ts';
import type { Finding } from '../../core/records/finding.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { Servers } from '../servers.ts';
import { meaningfulLines } from '../transports/stderr-reason.ts';

const MAX_QUOTE_CHARS = 200;

/** The servers, and the caller whose credentials are checked where each caller has its own. */
export interface ExaminedServer {
  readonly servers: Servers;
  readonly by?: Caller;
}

/** Connects one server and reports the outcome in one line. Throws NAME_UNKNOWN when it is not configured. */
export async function checkServer(examined: ExaminedServer, name: string, signal: AbortSignal): Promise<Finding> {
  const { status, stderrLines } = await connectAndList(examined, name, signal);
  const finding = connectVerdict(status);
  if (status.state !== 'connected') return finding;
  const { tools = 0 } = status;
  const quote = stderrLines.at(-1) ? `; the end of its stderr: ${stderrLines.at(-1)}` : '';
  return { ...finding, message: `${finding.message}, ${count(tools, 'tool')}${quote}` };
}

/** Connects a server. Returns its status afterwards, the lines at the end of its stderr, and the counts of unexpected messages. */
export async function connectAndList({ servers, by }: ExaminedServer, name: string, signal: AbortSignal) {
  const statusNow = () => servers.status(by).find((one) => one.name === name);
  const connection = await servers.connect(name, signal, by && { caller: by }).catch((thrown) => {
    if (!statusNow()) throw thrown;
    return undefined; // The status has the reason.
  });
  const lines = meaningfulLines(connection?.stderrTail() ?? '');
  const stderrLines = lines.map((line) => line.trim().slice(0, MAX_QUOTE_CHARS));
  return { status: statusNow() as ServerStatus, stderrLines, dropped: connection?.dropped() };
}

/** Describes the status of a server in one line. */
export function connectVerdict({ name, scope, transport, state, reason, fix, health, info }: ServerStatus): Finding {
  const subject = `server ${name}`;
  const facts = { state, health, ...(reason !== undefined && { reason }) };
  const other = fix === undefined ? undefined : withoutDoctor(fix, transport);
  const advice = other === undefined ? {} : { fix: other };
  if (state === 'disabled' && scope === 'builtin') {
    return { level: 'warn', subject, message: `disabled: ${reason}`, ...advice, facts };
  }
  if (state === 'disabled') return { level: 'ok', subject, message: 'disabled', facts };
  if (state !== 'connected') {
    return { level: 'error', subject, message: `${state}: ${reason ?? 'no reason known'}`, ...advice, facts };
  }
  const { era, protocolVersion, connectMs } = info ?? {};
  const trouble = reason === undefined ? '' : `, but ${health === 'unhealthy' ? 'unhealthy: ' : ''}${reason}`;
  const way = `${TRANSPORTS[transport] ?? transport}, protocol ${protocolVersion} (${era})`;
  const message = `connected in ${connectMs} ms over ${way}${trouble}`;
  const level = trouble === '' && health !== 'unhealthy' ? 'ok' : 'warn';
  return {
    level,
    subject,
    message,
    ...advice,
    facts: { ...facts, transport, connectMs, protocolVersion, era } as JsonObject,
  };
}

/** Removes the advice to run the doctor, which runs already. */
function withoutDoctor(fix: string, transport: string): string {
  const rest = fix.replace(/(?:[;,] |^)(?:or )?(?:[Rr]un )?`heddle doctor[^`]*`[^.;]*/, '').trim();
  if (rest !== '' && rest !== '.') return rest;
  return transport === 'stdio'
    ? 'Run its command by hand, and read what it prints.'
    : 'Ask the operator of the server what its log says.';
}

/** The names of the transports in sentences. */
const TRANSPORTS: Readonly<Record<string, string>> = { http: 'Streamable HTTP', sse: 'HTTP+SSE', ws: 'WebSocket' };

export const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;
