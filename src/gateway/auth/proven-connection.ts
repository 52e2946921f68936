import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Agent as NodeAgent } from 'node:http';
import { Duplex } from 'node:stream';
import { isObject, parseJson } from '../../core/json.ts';
import { Agent, request } from '../node-http.ts';
import { isSameProof, type ProvenBy, proofOf } from './gateway-proof.ts';

export interface ProvenRequest {
  /** The body of a POST; a request without one is a GET. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborts the request and its response, which closes the connection. */
  readonly signal?: AbortSignal;
}

/** A connection to a gateway that has proven itself. It carries one request at a time. */
export interface ProvenConnection {
  /** Sends a request. Resolves with the head of the response; its body has to be read before the next request. */
  request(path: string, options?: ProvenRequest): Promise<IncomingMessage>;
  /** False once either side has closed it. It is not opened again. */
  isOpen(): boolean;
  close(): void;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * Connects to a noted gateway and lets it prove itself before anything else is sent. The same connection carries the
 * proof and all requests, so that no other process can take over the port in between. Returns undefined without a
 * proof, and when `signal` aborts first.
 */
export async function openProvenConnection(note: ProvenBy, signal: AbortSignal): Promise<ProvenConnection | undefined> {
  const agent = new OneConnection();
  const connection: ProvenConnection = {
    request: (path, options) => send(new URL(path, note.url), agent, options),
    isOpen: () => agent.isOpen,
    close: () => agent.destroy(),
  };
  try {
    const challenge = randomBytes(24).toString('base64url');
    const health = await readJson(await connection.request(`/healthz?challenge=${challenge}`, { signal }));
    if (isObject(health) && isSameProof(health.proof, proofOf(note, challenge))) return connection;
  } catch {
    // A closed port, a response that is not JSON, or no response in time: not the noted gateway.
  }
  connection.close();
  return undefined;
}

/** Opens one connection, and refuses to open a second. */
class OneConnection extends Agent {
  #state: 'new' | 'open' | 'closed' = 'new';

  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  override createConnection(...[options, callback]: Parameters<NodeAgent['createConnection']>) {
    if (this.#state !== 'new') {
      callback?.(new Error('The gateway closed the connection.'), new Duplex());
      return undefined;
    }
    this.#state = 'open';
    const socket = super.createConnection(options, callback);
    socket?.once('close', () => {
      this.#state = 'closed';
    });
    return socket;
  }
}

function send(url: URL, agent: NodeAgent, { body, headers, signal }: ProvenRequest = {}): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    // A gateway that listens on 0.0.0.0 refuses that address as a Host.
    const all = { ...headers, host: 'localhost' };
    request(url, { agent, method, headers: all, ...(signal && { signal }) }, resolve)
      .on('error', reject)
      .end(body);
  });
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('The response is too large.');
    chunks.push(chunk);
  }
  if (response.statusCode !== 200) throw new Error(`The gateway answered ${response.statusCode}.`);
  return parseJson(Buffer.concat(chunks).toString());
}
