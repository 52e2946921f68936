import type { Call, ClientCapabilities, JsonObject } from '../core/call.ts';
import { type ErrorCode, type Fault, HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { RpcError } from '../wire/json-rpc.ts';
import {
  type Era,
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  MISSING_CAPABILITY,
  RESOURCE_NOT_FOUND,
  URL_ELICITATION_REQUIRED,
} from '../wire/mcp.ts';
import type { RequestContext } from './request-context.ts';

/** What the model can act on is a result it can read; what only the client program can act on is a protocol error. */
const READABLE = { caller: true, denied: true, upstream: true, internal: false } as const satisfies Record<
  Fault,
  boolean
>;
const FOR_THE_CLIENT: Partial<Record<ErrorCode, number>> = {
  NAME_UNKNOWN: INVALID_PARAMS,
  NAME_AMBIGUOUS: INVALID_PARAMS,
  CALL_CANCELLED: INTERNAL_ERROR,
};

/** The error of a request whose `Mcp-Param-*` headers differ from its arguments. HTTP clients get status 400. */
export class HeaderMismatch extends RpcError {
  constructor(message: string) {
    super(HEADER_MISMATCH, message);
  }
}

/** Says in MCP why a tool call failed: a result with `isError`, or an `RpcError` to throw. */
export function toCallError(
  thrown: unknown,
  { era, capabilities }: Pick<RequestContext, 'era' | 'capabilities'>,
): JsonObject {
  if (thrown instanceof RpcError) throw thrown;
  const error = HeddleError.from(thrown);
  const said = error.code === 'UPSTREAM_REFUSED' ? error.details.rpc : undefined;
  if (isObject(said)) {
    if (isUnvisited(said, era, capabilities)) return isError(`[${error.code}] ${unvisited(error.message)}`);
    const refusal = inWordsOf(era, RpcError.fromError(said));
    // Legacy clients do not know the code, but their models can read why.
    if (era === 'legacy' && refusal.code === MISSING_CAPABILITY) return isError(refusal.message);
    throw refusal; // The server's own words, as if we were not there.
  }
  if (error.details.mismatchedHeader !== undefined) throw new HeaderMismatch(error.message);
  const code = FOR_THE_CLIENT[error.code] ?? (READABLE[error.fault] ? undefined : INTERNAL_ERROR);
  if (code !== undefined) throw new RpcError(code, `${error.message} ${error.fix}`, { code: error.code });
  return isError(`[${error.code}] ${error.message} ${error.fix}`);
}

const isError = (text: string): JsonObject => ({ isError: true, content: [{ type: 'text', text }] });

/** Modern clients have no word for it; one that can visit pages is not told that it cannot. */
const isUnvisited = ({ code }: JsonObject, era: Era, capabilities: ClientCapabilities | undefined) =>
  era === 'modern' && code === URL_ELICITATION_REQUIRED && capabilities?.url === true;
const unvisited = (message: string) =>
  `${asSentence(message)} The page that this waits for was not visited, or the server has not noticed. Visit it, then call again.`;

/** What a server refused with, where the client's era has other words for it. */
function inWordsOf(era: Era, refusal: RpcError): RpcError {
  const { code, message, data } = refusal;
  if (era === 'legacy')
    return code === MISSING_CAPABILITY ? new RpcError(code, explained(message, data), data) : refusal;
  // Modern clients know no refusal until a page is visited: to them the server lacks a client that can be asked.
  if (code !== URL_ELICITATION_REQUIRED) return refusal;
  return new RpcError(MISSING_CAPABILITY, message, { requiredCapabilities: { elicitation: { url: {} } } });
}

/** With what the client cannot be asked, for its user to read: legacy clients do not look at the data. */
function explained(message: string, data: unknown): string {
  const required = isObject(data) && isObject(data.requiredCapabilities) ? data.requiredCapabilities : {};
  const { elicitation, sampling, roots } = required;
  const names = [
    ...(isObject(elicitation) ? [`elicitation by ${elicitation.url === undefined ? 'form' : 'URL'}`] : []),
    ...(isObject(sampling) ? ['sampling'] : []),
    ...(isObject(roots) ? ['roots'] : []),
  ];
  if (names.length === 0) return message;
  return `${asSentence(message)} This client does not support ${names.join(' or ')}. Use one that does.`;
}

const asSentence = (message: string) => (/[.!?]$/.test(message) ? message : `${message}.`);

const BY_FAULT = {
  caller: INVALID_PARAMS,
  denied: INVALID_REQUEST,
  upstream: INTERNAL_ERROR,
  internal: INTERNAL_ERROR,
} as const satisfies Record<Fault, number>;

interface Reader extends Pick<RequestContext, 'era' | 'capabilities'> {
  readonly uri: JsonObject;
}

function refusedRead(error: HeddleError, said: JsonObject, { era, capabilities, uri }: Reader): RpcError {
  if (isUnvisited(said, era, capabilities)) {
    return new RpcError(INTERNAL_ERROR, unvisited(error.message), { code: error.code, ...uri });
  }
  const { code, message, data } = inWordsOf(era, RpcError.fromError(said));
  // The newer era has no code of its own for it.
  const isOld = era === 'modern' && code === RESOURCE_NOT_FOUND;
  return isOld ? new RpcError(INVALID_PARAMS, message, data ?? uri) : new RpcError(code, message, data);
}

/** Says in MCP why there is nothing to read: always an error, since there is no model whose result it could be. */
export function toReadError(error: HeddleError, { kind, name, capabilities }: Call, era: Era): RpcError {
  const uri = kind === 'resource' || kind === 'subscription' ? { uri: name } : {};
  const said = error.code === 'UPSTREAM_REFUSED' ? error.details.rpc : undefined;
  if (isObject(said)) return refusedRead(error, said, { era, capabilities, uri });
  const isNotFound = error.code === 'NAME_UNKNOWN' && kind !== 'prompt' && kind !== 'completion';
  const code =
    isNotFound && era === 'legacy' ? RESOURCE_NOT_FOUND : (FOR_THE_CLIENT[error.code] ?? BY_FAULT[error.fault]);
  const { candidates, retryAfterMs } = error.details;
  return new RpcError(code, `${error.message} ${error.fix}`, {
    code: error.code,
    ...uri,
    ...(candidates !== undefined && { candidates }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
