import { HeddleError, UpstreamError } from '../core/errors.ts';
import { RpcError } from '../wire/json-rpc.ts';
import { URL_ELICITATION_REQUIRED } from '../wire/mcp.ts';
import { checkedUrls } from './elicitation/check-elicitation.ts';

/** Tests whether an error says that no request to the server succeeds before a sign-in, not one call alone. */
export const isSignInNeeded = (thrown: unknown): thrown is HeddleError =>
  HeddleError.is(thrown) && thrown.code === 'AUTH_NEEDED' && thrown.details.isOfCall !== true;

/** Converts an error of a transport or server to a HeddleError, by class and code, never by message text. */
export function toFailure(server: string, thrown: unknown): HeddleError {
  if (HeddleError.is(thrown)) return thrown;
  if (thrown instanceof RpcError) {
    const { code, data: received } = thrown.toError();
    const data = code === URL_ELICITATION_REQUIRED ? checkedUrls(received) : received;
    return new UpstreamError('UPSTREAM_REFUSED', thrown.message || `${server} refused the request.`, {
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
