import type { RemoteEntry } from '../../config/schema/schema.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import { MODERN_VERSION } from '../../wire/mcp.ts';
import type { Connect, Connection, ConnectOptions } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';
import { connectSse } from './connect-sse.ts';
import { checkAddress, SESSION_LOST } from './http-failure.ts';
import type { HttpPool } from './http-pool.ts';

const PROBE_MS = 5000;
/** The statuses of a POST after which the MCP specification has a client try HTTP+SSE. */
const MAY_BE_SSE = [400, 404, 405];

/**
 * Connects to a remote server over Streamable HTTP, in either era. Falls back to HTTP+SSE as the section "Backward
 * Compatibility" of the specification describes. A server that spoke HTTP+SSE before is first connected so.
 */
export function connectHttp(entry: RemoteEntry, pool: HttpPool): Connect {
  const attempts = { http: streamableHttp(entry, pool), sse: legacySse(entry, pool) };
  return async function connectHttp(options) {
    const { urlTransport: first = 'http', signal } = options;
    const second = first === 'http' ? 'sse' : 'http';
    try {
      return await attempts[first](options);
    } catch (thrown) {
      const error = HeddleError.from(thrown);
      // HTTP+SSE exists in the legacy era only.
      if (!speaksOther(error) || options.protocol === MODERN_VERSION || signal.aborted) throw thrown;
      // The known era belongs to the first transport.
      return await attempts[second]({ ...options, known: undefined }).catch((other) => {
        throw bothFailed(options.server, { [first]: error, [second]: HeddleError.from(other) } as Failures);
      });
    }
  };
}

const streamableHttp =
  (entry: RemoteEntry, pool: HttpPool): Connect =>
  async (options) => {
    const url = new URL(entry.url);
    // Loaded on first use, so that a Heddle without remote servers starts faster.
    const [{ HttpClientTransport }, dispatcher] = await Promise.all([import('./http-transport.ts'), pool.agent(url)]);
    const { headers, maxMessageBytes } = entry;
    const { server, credential } = options;
    const transport = new HttpClientTransport({ server, url, dispatcher, headers, credential, maxMessageBytes });
    const onLegacyVersion = (version: string) => transport.setProtocolVersion(version);
    const stderrTail = () => transport.closeReason();
    const hasLostSession = () => transport.closeReason() === SESSION_LOST;
    const opened = { ...options, transport, onLegacyVersion, stderrTail, hasLostSession };
    const connection = await openConnection({ ...opened, urlTransport: 'http' }).catch((thrown) => {
      const error = HeddleError.from(thrown);
      // A server that has accepted a POST speaks Streamable HTTP.
      throw transport.hasAccepted || !MAY_BE_SSE.includes(Number(error.details.status)) ? error : asOther(error);
    });
    // Some servers respond 404 to a second GET in a session that they still know. A POST with 404 loses the session.
    transport.onStreamNotFound = () => void connection.probe(AbortSignal.timeout(PROBE_MS)).catch(() => {});
    return connection;
  };

function legacySse(entry: RemoteEntry, pool: HttpPool): Connect {
  const connect = connectSse(entry, pool);
  return (options: ConnectOptions): Promise<Connection> =>
    connect({ ...options, urlTransport: 'sse', known: 'legacy' });
}

/** Marks the error of a server that does not speak the tried transport. */
function asOther(error: HeddleError): HeddleError {
  const { message, fix, details } = error;
  const marked = { ...details, speaksOther: true };
  return new UpstreamError('UPSTREAM_FAILED', message, { delivered: 'no', cause: error, fix, details: marked });
}

const speaksOther = ({ details }: HeddleError) => details.speaksOther === true;

type Failures = Readonly<Record<'http' | 'sse', HeddleError>>;

/** The error for a server that speaks neither transport. A credential that is missing for one of them comes first. */
function bothFailed(server: string, { http, sse }: Failures): HeddleError {
  const wantsCredential = [http, sse].find(({ code }) => code === 'AUTH_NEEDED' || code === 'CALL_CANCELLED');
  if (wantsCredential) return wantsCredential;
  const message = `${server} speaks neither Streamable HTTP (POST: ${gist(server, http)}) nor HTTP+SSE (GET: ${gist(server, sse)}).`;
  const { status } = http.details;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'no',
    cause: http,
    details: { server, ...(status !== undefined && { status }) },
    fix: checkAddress(server),
  });
}

/** Returns what a failed attempt got, such as `HTTP 404`; else its message without the name of the server. */
function gist(server: string, { details, message }: HeddleError): string {
  if (typeof details.answer === 'string') return details.answer;
  return message.replace(`${server} `, '').replace(/\.$/, '');
}
