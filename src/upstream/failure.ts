import { HeddleError, UpstreamError } from '../core/errors.ts';
import { cutText } from '../core/text/cut-text.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { URL_ELICITATION_REQUIRED } from '../wire/mcp.ts';
import { checkedUrls } from './elicitation/check-elicitation.ts';

/** The longest message of a server in an error. `details.rpc` has it whole, and so has the response to a client. */
const MAX_MESSAGE_CHARS = 10_000;

/** Cuts the message of an error response. It gets into states, logs and records, and each of them escapes it. */
export const cutRefusal = (message: string): string => cutText(message, MAX_MESSAGE_CHARS);

/** Tests whether an error says that no request to the server succeeds before a sign-in, not one call alone. */
export const isSignInNeeded = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) && thrown.code === 'AUTH_NEEDED' && thrown.details.isOfCall !== true;

/** Converts an error of a transport or server to a HeddleError, by class and code, never by message text. */
export function toFailure(server: string, thrown: unknown): HeddleError {
  if (HeddleError.is(thrown)) return thrown;
  if (thrown instanceof RpcError) {
    const { code, data: received } = thrown.toError();
    const data = code === URL_ELICITATION_REQUIRED ? checkedUrls(received) : received;
    return new UpstreamError('UPSTREAM_REFUSED', cutRefusal(thrown.message) || `${server} refused the request.`, {
      delivered: 'maybe',
      cause: thrown,
      details: { server, rpc: { code, message: thrown.message, data } },
    });
  }
  return new UpstreamError('UPSTREAM_FAILED', `The connection to ${server} broke.`, {
    delivered: 'maybe',
    cause: thrown,
  });
}

/**
 * Converts an error of a connect. Removes the JSON-RPC error of the server: it answers `initialize` or a list, not the call
 * that connects, so the gateway must not pass it to the client.
 */
export function toConnectFailure(server: string, thrown: unknown, request = ''): HeddleError {
  const failure = toFailure(server, thrown);
  const { message, details } = failure;
  if (failure.code !== 'UPSTREAM_REFUSED' || details.rpc === undefined) return failure;
  return new UpstreamError(
    'UPSTREAM_REFUSED',
    `${server} answered ${request}with an error: ${message.replace(/[.!?]?$/, (end) => end || '.')}`,
    {
      delivered: 'no',
      cause: failure,
      details: { server },
      fix: `Correct what the server names, or run \`heddle doctor ${server}\`.`,
    },
  );
}
