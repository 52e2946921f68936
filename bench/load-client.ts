import { Agent, request } from 'node:http';

interface HttpResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

/** A minimal legacy client of one gateway. */
export interface LoadClient {
  /** Calls the echo tool. Throws if the result is not the message. */
  echo(message: string): Promise<void>;
  close(): void;
}

export interface Load {
  readonly callsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const VERSION = '2025-06-18';

/** Opens a session and finds the echo tool under the gateway's name for it. */
export async function openClient(url: string, token: string | undefined): Promise<LoadClient> {
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: 'lifo' });
  const { hostname, port, pathname: path } = new URL(url);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  let lastId = 0;

  function post(message: object): Promise<HttpResponse> {
    const body = JSON.stringify(message);
    const length = { 'content-length': Buffer.byteLength(body) };
    const options = { hostname, port, path, agent, method: 'POST', headers: { ...headers, ...length } };
    return new Promise((resolve, reject) => {
      const sending = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      sending.on('error', reject);
      sending.end(body);
    });
  }

  async function send(method: string, params: object) {
    const response = await post({ jsonrpc: '2.0', id: ++lastId, method, params });
    const { result } = response.status === 200 ? JSON.parse(jsonIn(response)) : {};
    if (!result) throw new Error(`${method} failed with HTTP ${response.status}: ${response.text.slice(0, 300)}`);
    return { result, response };
  }

  const clientInfo = { name: 'bench', version: '1.0.0' };
  const initialized = await send('initialize', { protocolVersion: VERSION, capabilities: {}, clientInfo });
  const session = initialized.response.headers['mcp-session-id'];
  if (typeof session === 'string') headers['mcp-session-id'] = session;
  headers['mcp-protocol-version'] = VERSION;
  await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  const { result: listing } = await send('tools/list', {});
  const name: string = listing.tools.find((tool: { name: string }) => /(^|_)echo$/.test(tool.name)).name;

  return {
    async echo(message) {
      const { result } = await send('tools/call', { name, arguments: { message } });
      if (result.content?.[0]?.text !== message) throw new Error(`Not an echo: ${JSON.stringify(result)}`);
    },
    close: () => agent.destroy(),
  };
}

/** Keeps `clients` calls in flight until `calls` calls are done, and measures them. */
export async function load(call: () => Promise<void>, calls: number, clients: number): Promise<Load> {
  const durations: number[] = [];
  let begun = 0;
  async function client(): Promise<void> {
    while (begun < calls) {
      begun++;
      const startedAt = performance.now();
      await call();
      durations.push(performance.now() - startedAt);
    }
  }
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedAt) / 1000;
  const sorted = Float64Array.from(durations).sort();
  const at = (share: number) => sorted[Math.min(calls - 1, Math.floor(share * calls))] ?? 0;
  return { callsPerSecond: calls / seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

function jsonIn({ headers, text }: HttpResponse): string {
  if (!String(headers['content-type']).startsWith('text/event-stream')) return text;
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.at(-1)?.slice('data: '.length) ?? '{}';
}
