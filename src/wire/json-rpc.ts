import type { Json, JsonObject } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { INTERNAL_ERROR } from './mcp.ts';

/** A JSON-RPC message as its sender wrote it. */
export type Message = JsonObject;

/** A JSON-RPC error response. Its code, message and data pass through unchanged. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
    this.data = data;
  }

  static fromError(error: unknown): RpcError {
    const { code, message, data } = isObject(error) ? error : {};
    return new RpcError(
      typeof code === 'number' ? code : INTERNAL_ERROR,
      typeof message === 'string' ? message : '',
      data,
    );
  }

  toError(): JsonObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** The error for a response that has neither a result object nor an error. Its request may have been carried out. */
export function toInvalidResponse(server: string, method: string, { result, error }: Message): UpstreamError {
  const isBoth = isObject(result) && isObject(error);
  const found = isBoth ? 'both a result and an error' : `the result ${preview(result)} and no error`;
  const message = `${server} answered ${method} with an invalid JSON-RPC response: it has ${found}.`;
  return new UpstreamError('UPSTREAM_FAILED', message, {
    delivered: 'maybe',
    details: { server },
    fix: `Report it to the author of ${server}: a response has either a \`result\` object or an \`error\` object.`,
  });
}

const preview = (value: Json | undefined) => (value === undefined ? '(none)' : JSON.stringify(value).slice(0, 100));
