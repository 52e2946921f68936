import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Agent as NodeAgent } from 'node:http';
import { Duplex } from 'node:stream';
import { isObject, parseJson } from '../../core/json.ts';
import { Agent, request } from '../node-http.ts';
import { type ProvenBy, proofOf } from './gateway-proof.ts';

/** Sends a GET request and returns the JSON of a 200 response. */
export type Get = (path: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>;

const MAX_BODY_BYTES = 8 * 1024 * 1024;

/**
 * Connects to a noted gateway and lets it prove itself before `use` may send anything. The same connection carries
 * both, so that no other process can take over the port in between. Returns undefined without a proof, and when `signal`
 * aborts first.
 */
export async function overProvenConnection<T>(
  note: ProvenBy,
  signal: AbortSignal,
  use: (get: Get) => Promise<T>,
): Promise<T | undefined> {
  const agent = new OneConnection();
  const get: Get = (path, headers = {}) => getJson(new URL(path, note.url), { agent, headers, signal });
  try {
    const challenge = randomBytes(24).toString('base64url');
    const health = await get(`/healthz?challenge=${challenge}`);
    const isProven = isObject(health) && isSame(health.proof, proofOf(note, challenge));
    return isProven ? await use(get) : undefined;
  } catch {
    return undefined;
  } finally {
    agent.destroy();
  }
}

/** Opens one connection, and refuses to open a second. */
class OneConnection extends Agent {
  #isOpened = false;

  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  override createConnection(...[options, callback]: Parameters<NodeAgent['createConnection']>) {
    if (this.#isOpened) {
      callback?.(new Error('The gateway closed the connection.'), new Duplex());
      return undefined;
    }
    this.#isOpened = true;
    return super.createConnection(options, callback);
  }
}

interface GetOptions {
  readonly agent: NodeAgent;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

function getJson(url: URL, { agent, headers, signal }: GetOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    // A gateway that listens on 0.0.0.0 refuses that address as a Host.
    const sent = request(url, { agent, signal, headers: { ...headers, host: 'localhost' } }, (response) => {
      readJson(response).then(resolve, reject);
    });
    sent.on('error', reject).end();
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

function isSame(actual: unknown, expected: string): boolean {
  const [left, right] = [Buffer.from(String(actual)), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
