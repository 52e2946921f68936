import { META, MODERN_VERSION } from '../../src/wire/mcp.ts';
import { type PublishedSchema, publishedSchema } from './published-schemas.ts';

type Message = Readonly<Record<string, unknown>>;

/** Checks the messages that one end of a connection receives against the published schema of their version. */
export interface MessageChecker {
  /** Takes a message that this end sends. */
  sent(message: unknown): void;
  /** Takes a message that this end receives. Returns how it violates its schema. */
  received(message: unknown): string | undefined;
}

interface Request {
  readonly method: string;
  readonly params: Message;
}

// Methods of extensions, which the schema of MCP does not have.
const EXTENSION = /^(?:notifications\/)?tasks\b/;

const isObject = (value: unknown): value is Message => typeof value === 'object' && value !== null;
const paramsOf = ({ params }: Message): Message => (isObject(params) ? params : {});

export function messageChecker(): MessageChecker {
  const requests = new Map<unknown, Request>();
  let agreed: string | undefined;

  /** Takes the version of a session from the result of `initialize`, whichever end sends it. */
  function agree(version: unknown): void {
    if (typeof version === 'string') agreed = version;
  }

  /** Checks a request or a notification. Before a session has a version, only modern messages can be checked. */
  function receivedCall(message: Message): string | undefined {
    const { method, params, id } = message;
    if (method === 'initialize')
      return checkCall(publishedSchema(String(paramsOf({ params }).protocolVersion)), message);
    const version = versionOf(message) ?? agreed ?? (id === undefined ? MODERN_VERSION : undefined);
    return version === undefined ? undefined : checkCall(publishedSchema(version), message);
  }

  function receivedResponse(message: Message): string | undefined {
    const request = requests.get(message.id);
    requests.delete(message.id);
    if (request?.method === 'initialize' && isObject(message.result)) agree(message.result.protocolVersion);
    const version = (request && versionOf(request)) ?? agreed;
    return version === undefined ? undefined : checkResponse(publishedSchema(version), request, message);
  }

  return {
    sent(message) {
      if (!isObject(message)) return;
      if (typeof message.method === 'string') {
        if (message.id !== undefined) requests.set(message.id, { method: message.method, params: paramsOf(message) });
      } else if (isObject(message.result) && 'serverInfo' in message.result) agree(message.result.protocolVersion);
    },
    received(message) {
      if (!isObject(message)) return 'The message is no object.';
      return typeof message.method === 'string' ? receivedCall(message) : receivedResponse(message);
    },
  };
}

/** Returns the version in the `_meta` of a modern request. */
function versionOf(message: object): string | undefined {
  const { _meta } = paramsOf(message as Message);
  const version = isObject(_meta) ? _meta[META.protocolVersion] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** Checks a request or a notification. */
function checkCall(schema: PublishedSchema, message: Message): string | undefined {
  const method = String(message.method);
  const definition = schema.named(method);
  if (definition) {
    const frame = message.id === undefined ? 'JSONRPCNotification' : 'JSONRPCRequest';
    return schema.violation(frame, message) ?? schema.violation(definition, message);
  }
  const isExtension = schema.version === MODERN_VERSION && EXTENSION.test(method);
  return isExtension ? undefined : `${schema.version} has no method ${method}.`;
}

function checkResponse(schema: PublishedSchema, request: Request | undefined, message: Message): string | undefined {
  if (isObject(message.error)) return checkError(schema, message, message.error);
  const generic = schema.has('JSONRPCResultResponse') ? 'JSONRPCResultResponse' : 'JSONRPCResponse';
  const violation = schema.violation(generic, message);
  if (violation !== undefined || !request) return violation;
  const definition = resultOf(schema, request, message.result as Message);
  return definition === undefined
    ? `${schema.version} has no result of ${request.method} with this resultType.`
    : schema.violation(definition, message.result);
}

function checkError(schema: PublishedSchema, message: Message, error: Message): string | undefined {
  const generic = schema.has('JSONRPCError') ? 'JSONRPCError' : 'JSONRPCErrorResponse';
  const specific = schema.errorWith(error.code);
  // Some definitions are of the error, others of the whole response.
  const isBare = specific !== undefined && schema.violation(specific, error) === undefined;
  return schema.violation(generic, message) ?? (specific && !isBare ? schema.violation(specific, message) : undefined);
}

/** Returns the name of the definition of a result. */
function resultOf(schema: PublishedSchema, request: Request, { resultType }: Message): string | undefined {
  const name = schema.named(request.method)?.replace(/Request$/, 'Result');
  const known = name !== undefined && schema.has(name) ? name : undefined;
  if (schema.version !== MODERN_VERSION) {
    if (isObject(request.params.task)) return 'CreateTaskResult';
    return known ?? (schema.named(request.method) ? 'EmptyResult' : undefined);
  }
  if (EXTENSION.test(request.method) || resultType === 'task') return 'Result';
  if (resultType === 'input_required') return 'InputRequiredResult';
  return resultType === 'complete' ? known : undefined;
}
