// The fixture in the era without sessions, written out by hand: `node conformance-fixture-modern.ts [--stdio]`.
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import {
  Failure,
  INVALID_PARAMS,
  LISTS,
  named,
  type Offer,
  type Round,
  SERVER,
  textOf,
} from './conformance-fixture.ts';
import { change, type List, offered } from './conformance-fixture-changing.ts';
import { envelopeOf, KEY, modernHttp, VERSION } from './conformance-fixture-modern-http.ts';
import { complete, RESOURCES, readResource, TEMPLATES } from './conformance-fixture-reading.ts';
import { askingOf, MISSING_CAPABILITY, Unanswered } from './conformance-fixture-rounds.ts';
import { TASK_TOOLS, tasks } from './conformance-fixture-tasks.ts';
import { type HttpServer, listen } from './http-servers.ts';

export interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

/** Where the answer to a request goes, and what is said before it. */
export interface Line {
  readonly signal: AbortSignal;
  notify(method: string, params: JsonObject): void;
}

const tools = (): readonly Offer[] => [...offered('tools'), ...TASK_TOOLS];

const METHOD_NOT_FOUND = -32601;
const TASKS = KEY('tasks');
const CACHED = { ttlMs: 0, cacheScope: 'public' } as const;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const begun = tasks();
/** Whoever listens: told which list has changed. */
const listeners = new Set<(list: List) => void>();

const listed = (offers: readonly Offer[]) => offers.map(({ definition }) => definition);
const METHODS: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
  'server/discover': () => ({
    supportedVersions: [VERSION],
    capabilities: { ...LISTS, extensions: { [TASKS]: {} } },
    ...CACHED,
  }),
  'tools/list': () => ({ tools: listed(tools()), ...CACHED }),
  'prompts/list': () => ({ prompts: listed(offered('prompts')), ...CACHED }),
  'resources/list': () => ({ resources: RESOURCES.map(({ definition }) => definition), ...CACHED }),
  'resources/templates/list': () => ({ resourceTemplates: TEMPLATES, ...CACHED }),
  'resources/read': ({ uri }) => {
    const found = readResource(uri);
    if (!found) throw new Failure(INVALID_PARAMS, `There is nothing at ${textOf(uri)}.`, { uri: String(uri) });
    return { ...found, ...CACHED };
  },
  'completion/complete': complete,
};

/** Answers a request whose envelope is in order. */
export async function answer(request: Request, line: Line): Promise<JsonObject> {
  const result = await plainAnswer(request, line);
  const _meta = { ...(isObject(result._meta) && result._meta), [KEY('serverInfo')]: SERVER };
  return { resultType: 'complete', ...result, _meta };
}

async function plainAnswer({ id, method, params }: Request, line: Line): Promise<JsonObject> {
  const { capabilities } = envelopeOf(params);
  if (method === 'tools/call') return run(tools(), params, line);
  if (method === 'prompts/get') return run(offered('prompts'), params, line);
  if (method === 'subscriptions/listen') return listenTo(id, params, line);
  const ofTasks = Object.hasOwn(begun.methods, method) ? begun.methods[method] : undefined;
  if (ofTasks && !knowsTasks(capabilities)) throw needsTasks();
  const known = ofTasks ?? (Object.hasOwn(METHODS, method) ? METHODS[method] : undefined);
  if (!known) throw new Failure(METHOD_NOT_FOUND, `${method} is not a method of this server.`);
  return known(params);
}

async function run(offers: readonly Offer[], params: JsonObject, line: Line): Promise<JsonObject> {
  const input = isObject(params.arguments) ? params.arguments : {};
  try {
    return await named(offers, params.name).run(input, roundOf(params, line));
  } catch (thrown) {
    if (thrown instanceof Unanswered) return thrown.result;
    throw thrown;
  }
}

function roundOf(params: JsonObject, { signal, notify }: Line): Round {
  const { capabilities, meta } = envelopeOf(params);
  const level = LEVELS.indexOf(String(meta[KEY('logLevel')]));
  const { progressToken } = meta;
  const round: Round = {
    capabilities,
    signal,
    ask: askingOf(params, capabilities),
    log(data) {
      const isHeard = level >= 0 && level <= LEVELS.indexOf('info');
      if (isHeard) notify('notifications/message', { level: 'info', logger: SERVER.name, data });
    },
    progress(progress) {
      if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress, total: 100 });
    },
    changed(list) {
      change(list);
      for (const tell of listeners) tell(list);
    },
    hangUp() {},
    async inTask(work, { required = false } = {}) {
      if (knowsTasks(capabilities)) return begun.create(round, work);
      if (required) throw needsTasks();
      return work(round);
    },
  };
  return round;
}

function knowsTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && extensions[TASKS] !== undefined;
}

function needsTasks(): Failure {
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  return new Failure(MISSING_CAPABILITY, 'The client has to know tasks.', { requiredCapabilities });
}

function listenTo(id: string | number, params: JsonObject, { signal, notify }: Line): Promise<JsonObject> {
  const wanted = isObject(params.notifications) ? params.notifications : {};
  const _meta = { [KEY('subscriptionId')]: id };
  const tell = (list: List) => {
    if (wanted[`${list}ListChanged`] === true) notify(`notifications/${list}/list_changed`, { _meta });
  };
  listeners.add(tell);
  notify('notifications/subscriptions/acknowledged', { notifications: wanted, _meta });
  return new Promise((resolve) => {
    const end = () => {
      listeners.delete(tell);
      resolve({ _meta });
    };
    signal.addEventListener('abort', end, { once: true });
  });
}

/** The JSON-RPC error that a thrown thing is. */
export function errorOf(thrown: unknown): JsonObject & { readonly code: number } {
  const { message } = thrown as Error;
  if (!(thrown instanceof Failure)) return { code: -32603, message };
  return { code: thrown.code, message, ...(thrown.data && { data: thrown.data }) };
}

/** The fixture over Streamable HTTP, each request on its own. */
export function modernFixture(): Promise<HttpServer> {
  return listen(modernHttp({ answer, errorOf, tools }));
}

function serveLine(): void {
  const running = new Map<unknown, AbortController>();
  const write = (message: JsonObject) =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  createInterface({ input: process.stdin }).on('line', async (written) => {
    const { id, method, params = {} } = JSON.parse(written);
    if (method === 'notifications/cancelled') running.get(params.requestId)?.abort();
    if (id === undefined) return;
    const stop = new AbortController();
    running.set(id, stop);
    try {
      if (method === 'initialize') throw new Failure(METHOD_NOT_FOUND, 'There are no sessions here.');
      const notify = (name: string, about: JsonObject) => write({ method: name, params: about });
      write({ id, result: await answer({ id, method, params }, { signal: stop.signal, notify }) });
    } catch (thrown) {
      write({ id, error: errorOf(thrown) });
    }
    running.delete(id);
  });
}

if (import.meta.main) {
  if (process.argv.includes('--stdio')) serveLine();
  else process.stdout.write(`${(await modernFixture()).url}\n`);
}
