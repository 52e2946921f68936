import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { temporaryFolder, temporaryHeddle } from '../../test/temporary-heddle.ts';
import { consoleApi } from '../console/api.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { Heddle } from '../heddle.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import type { AuditRecord } from '../store/audit-log.ts';
import { openStore } from '../store/open-store.ts';
import { LEGACY_VERSIONS, META, MODERN_VERSION } from '../wire/mcp.ts';
import { type Authenticate, authenticator } from './auth/authenticate.ts';
import { type GatewayOptions, openGateway } from './open-gateway.ts';

export const TOKEN = 'open-sesame';
export const OWNER: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };

interface Setting {
  readonly servers?: NonNullable<HeddleOptions['servers']>;
  /** What heddle.json says. */
  readonly config?: JsonObject;
  readonly gateway?: Partial<GatewayOptions>;
  readonly authenticate?: Authenticate;
  readonly clock?: Clock;
}

export interface GatewayUnderTest {
  readonly url: string;
  readonly port: number;
  readonly heddle: Heddle;
  /** One HTTP request, as raw as it gets. */
  send(sending: Sending): Promise<TestResponse>;
  /** Posts one JSON-RPC message with the right token. */
  post(message: JsonObject, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  close(patienceMs?: number): Promise<void>;
  /** Closes it, and gives what it has written down, the newest first. */
  audit(): Promise<readonly AuditRecord[]>;
}

interface Sending {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The body as JSON; of an event stream the last message. */
  readonly json: JsonObject;
}

/** A real gateway on a free port over a real Heddle in an empty folder; both gone when the test ends. */
export async function gatewayUnderTest(setting: Setting = {}): Promise<GatewayUnderTest> {
  const folder = await temporaryFolder();
  const { clock = Date.now } = setting;
  const { servers = {}, config = {} } = setting;
  const heddle = await temporaryHeddle({ folder, env: {}, config, servers });
  const gateway = await openGateway({
    heddle,
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 4 * 1024 * 1024,
    allowedHosts: [],
    allowedOrigins: [],
    authenticate: setting.authenticate ?? authenticator({ token: TOKEN, access: heddle.access, clock }),
    api: consoleApi(heddle),
    ...setting.gateway,
  });
  let closed: Promise<void> | undefined;
  const close = (patienceMs?: number) => {
    closed ??= gateway.close(patienceMs).then(() => heddle.close());
    return closed;
  };
  onTestFinished(() => close());
  const { port, url } = gateway;
  const send = (sending: Sending) => exchange(port, sending);
  const post = (message: JsonObject, headers: Readonly<Record<string, string>> = {}) =>
    send({ headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });
  const audit = async () => {
    await close();
    const store = await openStore({ location: join(folder, 'home', 'heddle.sqlite') });
    const records = await store.audit.search({ limit: 1000 });
    await store.close();
    return records;
  };
  return { url, port, heddle, send, post, close, audit };
}

/** With these a request whose length is known goes the way of nearly all of them: past Node's server. */
export const JSON_HEADERS = {
  'content-type': 'application/json',
  authorization: `Bearer ${TOKEN}`,
  connection: 'keep-alive',
};

function exchange(
  port: number,
  { method = 'POST', path = '/mcp', headers = {}, body }: Sending,
): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const { statusCode: status = 0, headers } = response;
      text(response).then((text) => resolve({ status, headers, text, json: lastMessage(text) }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function lastMessage(body: string): JsonObject {
  const events = body.split('\n').filter((line) => line.startsWith('data: '));
  const text = events.at(-1)?.slice('data: '.length) ?? body;
  return text.startsWith('{') ? JSON.parse(text) : {};
}

const ENVELOPE = {
  [META.protocolVersion]: MODERN_VERSION,
  [META.clientCapabilities]: {},
};

/** A request of the stateless protocol: the message and the headers that have to agree with it. */
export function modern(method: string, params: JsonObject = {}): [JsonObject, Record<string, string>] {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  return [
    { id: 1, method, params: { ...params, _meta: { ...(params._meta as JsonObject), ...ENVELOPE } } },
    { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method, ...name },
  ];
}

/** Opens a session of the older protocol; gives back the header that names it. */
export async function openSession({ post }: Pick<GatewayUnderTest, 'post'>): Promise<{ 'mcp-session-id': string }> {
  const hello = { protocolVersion: LEGACY_VERSIONS[0], capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
  const { headers } = await post({ id: 0, method: 'initialize', params: hello });
  return { 'mcp-session-id': String(headers['mcp-session-id']) };
}
