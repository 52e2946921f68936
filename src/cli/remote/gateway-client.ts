import type { IncomingMessage } from 'node:http';
import {
  COMMAND_PROOF,
  COMMAND_ROUTES,
  type CommandMessage,
  type CommandRoute,
  fromWireError,
  MAX_COMMAND_DEPTH,
  type WireError,
} from '../../console/command-wire.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, type JsonLimits, parseJson } from '../../core/json.ts';
import { commandProofOf } from '../../gateway/auth/gateway-proof.ts';
import type { ProvenConnection } from '../../gateway/auth/proven-connection.ts';
import { connectToGateway, type RunningGateway } from '../../gateway/running-gateway.ts';
import { type GivenKey, unknownApiKey } from './given-key.ts';

export interface CommandExchange {
  readonly body: object;
  readonly signal?: AbortSignal | undefined;
  /** Called with each line before the last, and with lines after it while the response stays open. */
  readonly onMessage?: (line: CommandMessage) => void;
}

/** Sends the requests of one command to a running gateway. */
export interface GatewayClient {
  readonly gateway: RunningGateway;
  /** Returns the result of the last line, or throws its error. Throws GatewayLost if the gateway is gone. */
  send(route: CommandRoute, exchange: CommandExchange): Promise<unknown>;
  /** Closes all connections. Calls that are not complete are cancelled. */
  close(): void;
}

/** The gateway is gone. */
export class GatewayLost extends Error {
  /** True if the request may have reached the gateway. */
  readonly sent: boolean;

  constructor(sent: boolean) {
    super('The gateway is gone.');
    this.sent = sent;
  }
}

/**
 * Makes a client over a connection that is open already. Further connections are opened while that one is in use. With a
 * key the gateway acts as that key, else as its user.
 */
export function gatewayClient(gateway: RunningGateway, first: ProvenConnection, key?: GivenKey): GatewayClient {
  const credential = key?.text ?? gateway.token;
  const credentials = { authorization: `Bearer ${credential}`, [COMMAND_PROOF]: commandProofOf(gateway) };
  const connections = new Set([first]);
  const idle = new Set([first]);

  async function connect(): Promise<ProvenConnection> {
    for (const connection of idle) {
      idle.delete(connection);
      if (connection.isOpen()) return connection;
      connections.delete(connection);
    }
    const another = await connectToGateway(gateway);
    if (!another) throw new GatewayLost(false);
    connections.add(another);
    return another;
  }

  return {
    gateway,
    async send(route, { body, signal, onMessage }) {
      const connection = await connect();
      const headers = { 'content-type': 'application/json', ...credentials };
      const options = { headers, body: JSON.stringify(body), ...(signal && { signal }) };
      let response: IncomingMessage;
      try {
        response = await connection.request(`${COMMAND_ROUTES}${route}`, options);
      } catch {
        throw new GatewayLost(true);
      }
      response.once('end', () => idle.add(connection));
      if (response.statusCode === 401 && key) throw unknownApiKey(key);
      return response.statusCode === 200 ? readLines(response, onMessage) : refused(response);
    },
    close() {
      for (const connection of connections) connection.close();
    },
  };
}

/** Reads lines until the last one. Lines that come later are read, too. */
function readLines(response: IncomingMessage, onMessage: CommandExchange['onMessage']): Promise<unknown> {
  return new Promise((resolve, reject) => {
    response.setEncoding('utf8').on('data', splitter(read));
    function read(text: string): void {
      const line = parseLine(text);
      if (line.error) reject(fromWireError(line.error));
      else if ('result' in line) resolve(line.result);
      else onMessage?.(line);
    }
    response.on('error', () => {}); // `close` follows.
    response.once('close', () => {
      reject(new GatewayLost(true));
      onMessage?.({ withdrawn: true }); // Input requests of a gateway that is gone need no response.
    });
  });
}

/** Splits a stream of text into lines. */
function splitter(onLine: (line: string) => void): (text: string) => void {
  let pieces: string[] = []; // Of a line that has not ended: a large result comes in many.
  return function split(text) {
    const [head = '', ...rest] = text.split('\n');
    pieces.push(head);
    for (const next of rest) {
      onLine(pieces.join(''));
      pieces = [next];
    }
  };
}

function parseLine(text: string): CommandMessage {
  try {
    const line = parseJson(text, LINE_LIMITS);
    if (isObject(line)) return line as CommandMessage;
  } catch {
    // Thrown in an event handler it would end the process.
  }
  return { error: notUnderstood };
}

const LINE_LIMITS: JsonLimits = {
  ...{ numbers: 'exact', keys: 'any' },
  ...{ maxDepth: MAX_COMMAND_DEPTH, maxChars: Number.POSITIVE_INFINITY },
};

const notUnderstood: WireError = {
  code: 'INTERNAL',
  message: 'The gateway sent a line that is not understood.',
  fix: 'Call again with --local.',
  details: {},
};

async function refused(response: IncomingMessage): Promise<never> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  if (response.statusCode === 413) {
    throw new HeddleError('INPUT_INVALID', `The gateway does not accept arguments this large. ${errorIn(text)}`, {
      fix: 'Call with --local.',
    });
  }
  throw new HeddleError('INTERNAL', `The gateway refused the request (${response.statusCode}). ${errorIn(text)}`, {
    fix: 'Call with --local.',
  });
}

function errorIn(text: string): string {
  try {
    const body = parseJson(text);
    return isObject(body) && typeof body.error === 'string' ? body.error : '';
  } catch {
    return '';
  }
}
