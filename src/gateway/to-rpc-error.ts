import type { Call, ClientCapabilities, JsonObject } from '../core/call.ts';
import type { ErrorCode, Fault } from '../core/error-codes.ts';
import { HeddleError } from '../core/errors.ts';
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

/** Faults that become a result with `isError`, which the model can act on. Other faults become a JSON-RPC error. */
const IS_FOR_MODEL = { caller: true, denied: true, upstream: true, internal: false } as const satisfies Record<
  Fault,
  boolean
>;
const RPC_CODES: Partial<Record<ErrorCode, number>> = {
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

/** Converts the error of a tool call to a result with `isError`, or throws it as an `RpcError`. */
export function toCallError(
  thrown: unknown,
  { era, capabilities }: Pick<RequestContext, 'era' | 'capabilities'>,
): JsonObject {
  if (thrown instanceof RpcError) throw thrown;
  const error = HeddleError.from(thrown);
  const rpc = error.code === 'UPSTREAM_REFUSED' ? error.details.rpc : undefined;
  if (isObject(rpc)) {
    if (isUrlNotVisited(rpc, era, capabilities)) return isError(`[${error.code}] ${urlNotVisited(error.message)}`);
    const refusal = toEraError(era, RpcError.fromError(rpc));
    // Legacy clients do not know -32021, but the model can read the message.
    if (era === 'legacy' && refusal.code === MISSING_CAPABILITY) return isError(refusal.message);
    throw refusal; // The server's own error passes unchanged.
  }
  if (error.details.mismatchedHeader !== undefined) throw new HeaderMismatch(error.message);
  const code = RPC_CODES[error.code] ?? (IS_FOR_MODEL[error.fault] ? undefined : INTERNAL_ERROR);
  if (code !== undefined) throw new RpcError(code, `${error.message} ${error.fix}`, { code: error.code });
  return isError(`[${error.code}] ${error.message} ${error.fix}`);
}

const isError = (text: string): JsonObject => ({ isError: true, content: [{ type: 'text', text }] });

/** Tests for -32042, which 2026-07-28 does not have, to a client with URL elicitation: it does not lack a capability. */
const isUrlNotVisited = ({ code }: JsonObject, era: Era, capabilities: ClientCapabilities | undefined) =>
  era === 'modern' && code === URL_ELICITATION_REQUIRED && capabilities?.url === true;
const urlNotVisited = (message: string) =>
  `${asSentence(message)} The required page was not visited, or the server has not noticed it. Visit it, then call again.`;

/** Converts a server's error to one that the client's era has. */
function toEraError(era: Era, refusal: RpcError): RpcError {
  const { code, message, data } = refusal;
  if (era === 'legacy')
    return code === MISSING_CAPABILITY ? new RpcError(code, explained(message, data), data) : refusal;
  // 2026-07-28 has no -32042. The client lacks URL elicitation, which is -32021 there.
  if (code !== URL_ELICITATION_REQUIRED) return refusal;
  return new RpcError(MISSING_CAPABILITY, message, { requiredCapabilities: { elicitation: { url: {} } } });
}

/** Adds the missing capabilities to the message: legacy clients do not read the error data. */
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

interface ReadErrorContext extends Pick<RequestContext, 'era' | 'capabilities'> {
  readonly uri: JsonObject;
}

function refusedRead(error: HeddleError, rpc: JsonObject, { era, capabilities, uri }: ReadErrorContext): RpcError {
  if (isUrlNotVisited(rpc, era, capabilities)) {
    return new RpcError(INTERNAL_ERROR, urlNotVisited(error.message), { code: error.code, ...uri });
  }
  const { code, message, data } = toEraError(era, RpcError.fromError(rpc));
  // 2026-07-28 has no code for a resource that does not exist.
  const isNotFound = era === 'modern' && code === RESOURCE_NOT_FOUND;
  return isNotFound ? new RpcError(INVALID_PARAMS, message, data ?? uri) : new RpcError(code, message, data);
}

/** Converts the error of a read, or of a method of an extension, to an `RpcError`. Only tool results have `isError`. */
export function toReadError(error: HeddleError, { kind, name, capabilities }: Call, era: Era): RpcError {
  const uri = kind === 'resource' || kind === 'subscription' ? { uri: name } : {};
  const rpc = error.code === 'UPSTREAM_REFUSED' ? error.details.rpc : undefined;
  // The errors of an extension are its own.
  if (isObject(rpc) && kind === 'extension') return RpcError.fromError(rpc);
  if (isObject(rpc)) return refusedRead(error, rpc, { era, capabilities, uri });
  const isNotFound = error.code === 'NAME_UNKNOWN' && (kind === 'resource' || kind === 'subscription');
  const code = isNotFound && era === 'legacy' ? RESOURCE_NOT_FOUND : (RPC_CODES[error.code] ?? BY_FAULT[error.fault]);
  const { candidates, retryAfterMs, approval, approvers, expiresAt } = error.details;
  return new RpcError(code, `${error.message} ${error.fix}`, {
    code: error.code,
    ...uri,
    ...(candidates !== undefined && { candidates }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(approval !== undefined && { approval }),
    ...(approvers !== undefined && { approvers, expiresAt }),
  });
}
