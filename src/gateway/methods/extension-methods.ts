import type { Call, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Heddle } from '../../heddle.ts';
import { RpcError } from '../../wire/json-rpc.ts';
import { type RequestHandler, UnknownMethod } from '../request-context.ts';
import { toReadError } from '../to-rpc-error.ts';
import type { RunCall } from './run-call.ts';
import { toCall } from './to-call.ts';

/** Returns the handler of methods that Heddle does not have itself: those of extensions that a server entry lists. */
export function extensionMethod(heddle: Heddle, runCall: RunCall): RequestHandler {
  return async function callExtension(method, params, context) {
    if (!heddle.catalog.hasMethod(method)) throw new UnknownMethod(method);
    const { era } = context;
    const input = era === 'modern' ? withoutContinuation(params) : withoutMeta(params);
    const call = toCall({ kind: 'extension', name: method, input }, params, context);
    try {
      return await runCall(call, context, params);
    } catch (thrown) {
      throw toRpcError(thrown, call, era);
    }
  };
}

/** Converts an error to an `RpcError`. A method that is hidden from the caller is one that no server has. */
function toRpcError(thrown: unknown, call: Call, era: Parameters<typeof toReadError>[2]): RpcError {
  if (thrown instanceof RpcError) return thrown;
  const error = HeddleError.from(thrown);
  return error.code === 'NAME_UNKNOWN' ? new UnknownMethod(call.name) : toReadError(error, call, era);
}

const withoutMeta = ({ _meta: _, ...input }: JsonObject): JsonObject => input;

/** Removes the params of 2026-07-28 that continue an earlier request. */
const withoutContinuation = ({ _meta: _, inputResponses: __, requestState: ___, ...input }: JsonObject): JsonObject =>
  input;
