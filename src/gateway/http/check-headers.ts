import type { IncomingHttpHeaders } from 'node:http';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { readHeaderValue } from '../../wire/header-value.ts';
import { HEADER_MISMATCH, INVALID_PARAMS, META, MODERN_VERSION, UNSUPPORTED_VERSION } from '../../wire/mcp.ts';
import { nameParamOf } from '../../wire/name-param.ts';
import { type MirroredParam, mirroredParams } from '../../wire/param-headers.ts';

export interface RequestRefusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: Json;
}

/** A client of the stateless protocol says so in the body, or at the least in the header. */
export function isModern(headers: IncomingHttpHeaders, params: JsonObject): boolean {
  const meta = params._meta;
  return (isObject(meta) && META.protocolVersion in meta) || headers['mcp-protocol-version'] === MODERN_VERSION;
}

/** Why the envelope of a modern request will not do, whatever carried it here. */
export function checkEnvelope({ _meta }: JsonObject): RequestRefusal | undefined {
  const meta = isObject(_meta) ? _meta : {};
  const requested = meta[META.protocolVersion];
  if (typeof requested !== 'string' || !isObject(meta[META.clientCapabilities])) return noEnvelope();
  if (requested === MODERN_VERSION) return undefined;
  const data = { supported: [MODERN_VERSION], requested };
  return { status: 400, code: UNSUPPORTED_VERSION, message: 'Unsupported protocol version.', data };
}

/** Why a modern request must be refused before anyone looks at it: its headers and body have to say the same. */
export function checkModernRequest(
  headers: IncomingHttpHeaders,
  method: string,
  params: JsonObject,
): RequestRefusal | undefined {
  const refusal = checkEnvelope(params);
  // A version that differs is a mismatch first: which of the two is supported cannot be said.
  const requested = isObject(params._meta) ? params._meta[META.protocolVersion] : undefined;
  const versionsAgree = headers['mcp-protocol-version'] === requested;
  if (refusal && (refusal.code === INVALID_PARAMS || versionsAgree)) return refusal;
  if (!versionsAgree) return headerMismatch('MCP-Protocol-Version');
  if (headers['mcp-method'] !== method) return headerMismatch('Mcp-Method');
  const name = nameParamOf(method, params);
  return name !== undefined && decoded(headers['mcp-name']) !== name ? headerMismatch('Mcp-Name') : undefined;
}

const noEnvelope = (): RequestRefusal => ({
  status: 400,
  code: INVALID_PARAMS,
  message: '`_meta` has to name the protocol version and the capabilities of the client.',
});

/** The refusal of a header that is absent, broken or says something else than the body. */
export const headerMismatch = (name: string): RequestRefusal => ({
  status: 400,
  code: HEADER_MISMATCH,
  message: `${name} does not match the body.`,
});

function decoded(value: string | string[] | undefined): unknown {
  return typeof value === 'string' ? readHeaderValue(value) : value;
}

/** Why the headers of a modern call do not say what its arguments say, where the tool wants some of them repeated. */
export function checkParamHeaders(
  headers: IncomingHttpHeaders,
  inputSchema: Json | undefined,
  input: unknown,
): RequestRefusal | undefined {
  const wrong = mirroredParams(inputSchema, isObject(input) ? input : ({} as JsonObject)).find(
    (repeated) => !agrees(headers[repeated.header], repeated),
  );
  return wrong && headerMismatch(wrong.header.replaceAll(/(^|-)./g, (letter) => letter.toUpperCase()));
}

function agrees(header: string | string[] | undefined, { value }: MirroredParam): boolean {
  if (header === undefined || value === undefined) return header === value;
  const said = typeof header === 'string' ? readHeaderValue(header) : undefined;
  if (typeof value !== 'number') return said === String(value);
  return said !== undefined && /^-?\d+(\.0+)?$/.test(said) && Number(said) === value; // 42 and 42.0 are the same.
}
