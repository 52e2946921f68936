import type { JsonObject } from '../core/call.ts';
import { type ErrorCode, type Fault, HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, RpcError } from '../wire/json-rpc.ts';

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

/** Says in MCP why a tool call failed: a result with `isError`, or an `RpcError` to throw. */
export function failedCall(thrown: unknown): JsonObject {
  const error = HeddleError.from(thrown);
  const said = error.code === 'UPSTREAM_REFUSED' ? error.details.rpc : undefined;
  if (isObject(said)) throw RpcError.fromAnswer(said); // The server's own words, as if we were not there.
  const code = FOR_THE_CLIENT[error.code] ?? (READABLE[error.fault] ? undefined : INTERNAL_ERROR);
  if (code !== undefined) throw new RpcError(code, `${error.message} ${error.fix}`, { code: error.code });
  return { isError: true, content: [{ type: 'text', text: `[${error.code}] ${error.message} ${error.fix}` }] };
}
