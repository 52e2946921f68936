import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { temporaryFolder, temporaryHeddle } from '../../test/temporary-heddle.ts';
import { consoleApi } from '../console/api.ts';
import type { Call, Caller, JsonObject } from '../core/call.ts';
import type { Clock } from '../core/time.ts';
import type { Heddle } from '../heddle.ts';
import type { HeddleOptions } from '../open-heddle.ts';
import type { AuditRecord } from '../store/audit-log.ts';
import { openStore } from '../store/open-store.ts';
import { LEGACY_VERSIONS, META, MODERN_VERSION } from '../wire/mcp.ts';
import { type Authenticate, authenticator } from './auth/authenticate.ts';
import { commandCaller } from './auth/command-caller.ts';
import { commandProofOf } from './auth/gateway-proof.ts';
import { type GatewayOptions, openGateway } from './open-gateway.ts';

export const TOKEN = 'open-sesame';
/** The key in the note of the gateway. */
export const PROOF_KEY = 'read-the-note';
/** The proof of commands that use the gateway. */
export const COMMAND_PROOF_VALUE = commandProofOf({ proofKey: PROOF_KEY });
export const OWNER: Caller = { id: 'owner', roles: ['owner'], via: 'gateway' };
/** The user of commands that use the gateway. */
export const LOCAL: Caller = { id: 'local:tester', roles: ['owner'], via: 'cli' };

interface TestGatewayOptions {
  /** The folder of the project and its home; a new one if absent. Gateways of one folder share the store. */
  readonly folder?: string;
  readonly servers?: NonNullable<HeddleOptions['servers']>;
  /** The content of heddle.json. */
  readonly config?: JsonObject;
  readonly gateway?: Partial<GatewayOptions>;
  readonly authenticate?: Authenticate;
  readonly clock?: Clock;
  /** Called with each call before it is dispatched. */
  readonly onCall?: (call: Call) => void;
  /** Environment variables; none by default. */
  readonly env?: Readonly<Record<string, string>>;
  /** Executes runs that other processes have left. */
  readonly runs?: boolean;
}

export interface GatewayUnderTest {
  readonly url: string;
  readonly port: number;
  readonly heddle: Heddle;
  /** Sends one HTTP request. */
  send(options: SendOptions): Promise<TestResponse>;
  /** Posts one JSON-RPC message with the owner's token. */
  post(message: JsonObject, headers?: Readonly<Record<string, string>>): Promise<TestResponse>;
  close(drainMs?: number): Promise<void>;
  /** Closes the gateway and returns its audit records, newest first. */
  audit(): Promise<readonly AuditRecord[]>;
}

interface SendOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** The JSON body; for an event stream its last message, for several lines of JSON the last one. */
  readonly json: JsonObject;
}

/** Opens a gateway on a free port over a Heddle in an empty folder. Both close when the test ends. */
export async function gatewayUnderTest(options: TestGatewayOptions = {}): Promise<GatewayUnderTest> {
  const folder = options.folder ?? (await temporaryFolder());
  const { clock = Date.now } = options;
  const { servers = {}, config = {}, env = {}, runs = false } = options;
  const opened = await temporaryHeddle({ folder, env, config, servers, runs });
  const { onCall = () => {} } = options;
  const heddle: Heddle = {
    ...opened,
    dispatch(call) {
      onCall(call);
      return opened.dispatch(call);
    },
  };
  const gateway = await openGateway({
    heddle,
    host: '127.0.0.1',
    port: 0,
    maxBodyBytes: 4 * 1024 * 1024,
    allowedHosts: [],
    allowedOrigins: [],
    authenticate: options.authenticate ?? authenticator({ token: TOKEN, access: heddle.access, clock }),
    api: consoleApi(heddle, {
      callerOf: commandCaller({ user: LOCAL, proofKey: PROOF_KEY }),
      maxBodyBytes: 100_000,
    }),
    ...options.gateway,
  });
  let closed: Promise<void> | undefined;
  const close = (drainMs?: number) => {
    closed ??= gateway.close(drainMs).then(() => heddle.close());
    return closed;
  };
  onTestFinished(() => close());
  const { port, url } = gateway;
  const send = (options: SendOptions) => exchange(port, options);
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

/** Headers with which a POST of known length takes the fast path. */
export const JSON_HEADERS = {
  'content-type': 'application/json',
  authorization: `Bearer ${TOKEN}`,
  connection: 'keep-alive',
};

function exchange(
  port: number,
  { method = 'POST', path = '/mcp', headers = {}, body }: SendOptions,
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
  const text = events.at(-1)?.slice('data: '.length) ?? body.trimEnd().split('\n').at(-1) ?? '';
  return text.startsWith('{') ? JSON.parse(text) : {};
}

const ENVELOPE = {
  [META.protocolVersion]: MODERN_VERSION,
  [META.clientCapabilities]: {},
};

/** Builds a modern request: the message and the headers that repeat it. */
export function modern(method: string, params: JsonObject = {}): [JsonObject, Record<string, string>] {
  const name = typeof params.name === 'string' ? { 'mcp-name': params.name } : {};
  return [
    { id: 1, method, params: { ...params, _meta: { ...(params._meta as JsonObject), ...ENVELOPE } } },
    { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method, ...name },
  ];
}

/** Opens a legacy session and returns its `Mcp-Session-Id` header. */
export async function openSession({ post }: Pick<GatewayUnderTest, 'post'>): Promise<{ 'mcp-session-id': string }> {
  const params = { protocolVersion: LEGACY_VERSIONS[0], capabilities: {}, clientInfo: { name: 'raw', version: '0' } };
  const { headers } = await post({ id: 0, method: 'initialize', params });
  return { 'mcp-session-id': String(headers['mcp-session-id']) };
}
