// The fixture in the modern era, written without an SDK: `node conformance-fixture-modern.ts [--stdio]`.
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/core/call.ts';
import { isObject } from '../../src/core/json.ts';
import {
  type Entry,
  Failure,
  findEntry,
  INVALID_PARAMS,
  LISTS,
  SERVER,
  type ToolContext,
  textOf,
} from './conformance-fixture.ts';
import { InputRequired, inputRequester, MISSING_CAPABILITY } from './conformance-fixture-input-required.ts';
import { currentEntries, type List, toggleEntry } from './conformance-fixture-lists.ts';
import { envelopeOf, KEY, modernHttp, VERSION } from './conformance-fixture-modern-http.ts';
import { complete, RESOURCES, readResource, TEMPLATES } from './conformance-fixture-resources.ts';
import { createTaskStore, TASK_TOOLS } from './conformance-fixture-tasks.ts';
import { type HttpServer, listen } from './http-servers.ts';

export interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: JsonObject;
}

/** Cancels a request, and sends the notifications that precede its response. */
export interface RequestChannel {
  readonly signal: AbortSignal;
  notify(method: string, params: JsonObject): void;
}

const tools = (): readonly Entry[] => [...currentEntries('tools'), ...TASK_TOOLS];

const METHOD_NOT_FOUND = -32601;
const TASKS = KEY('tasks');
const CACHED = { ttlMs: 0, cacheScope: 'public' } as const;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const taskStore = createTaskStore();
/** Callbacks of the open `subscriptions/listen` requests, called with the changed list. */
const listeners = new Set<(list: List) => void>();

const definitionsOf = (entries: readonly Entry[]) => entries.map(({ definition }) => definition);
const METHODS: Readonly<Record<string, (params: JsonObject) => JsonObject>> = {
  'server/discover': () => ({
    supportedVersions: [VERSION],
    capabilities: { ...LISTS, extensions: { [TASKS]: {} } },
    ...CACHED,
  }),
  'tools/list': () => ({ tools: definitionsOf(tools()), ...CACHED }),
  'prompts/list': () => ({ prompts: definitionsOf(currentEntries('prompts')), ...CACHED }),
  'resources/list': () => ({ resources: RESOURCES.map(({ definition }) => definition), ...CACHED }),
  'resources/templates/list': () => ({ resourceTemplates: TEMPLATES, ...CACHED }),
  'resources/read': ({ uri }) => {
    const found = readResource(uri);
    if (!found) throw new Failure(INVALID_PARAMS, `There is no resource at ${textOf(uri)}.`, { uri: String(uri) });
    return { ...found, ...CACHED };
  },
  'completion/complete': complete,
};

/** Answers a request whose headers and `_meta` are valid. */
export async function handleRequest(request: Request, channel: RequestChannel): Promise<JsonObject> {
  const result = await dispatchRequest(request, channel);
  const _meta = { ...(isObject(result._meta) && result._meta), [KEY('serverInfo')]: SERVER };
  return { resultType: 'complete', ...result, _meta };
}

async function dispatchRequest({ id, method, params }: Request, channel: RequestChannel): Promise<JsonObject> {
  const { capabilities } = envelopeOf(params);
  if (method === 'tools/call') return run(tools(), params, channel);
  if (method === 'prompts/get') return run(currentEntries('prompts'), params, channel);
  if (method === 'subscriptions/listen') return listenTo(id, params, channel);
  const taskMethod = Object.hasOwn(taskStore.methods, method) ? taskStore.methods[method] : undefined;
  if (taskMethod && !supportsTasks(capabilities)) throw missingTasks();
  const handler = taskMethod ?? (Object.hasOwn(METHODS, method) ? METHODS[method] : undefined);
  if (!handler) throw new Failure(METHOD_NOT_FOUND, `${method} is not a method of this server.`);
  return handler(params);
}

async function run(entries: readonly Entry[], params: JsonObject, channel: RequestChannel): Promise<JsonObject> {
  const input = isObject(params.arguments) ? params.arguments : {};
  try {
    return await findEntry(entries, params.name).run(input, toContext(params, channel));
  } catch (thrown) {
    if (thrown instanceof InputRequired) return thrown.result;
    throw thrown;
  }
}

function toContext(params: JsonObject, { signal, notify }: RequestChannel): ToolContext {
  const { capabilities, meta } = envelopeOf(params);
  const level = LEVELS.indexOf(String(meta[KEY('logLevel')]));
  const { progressToken } = meta;
  const context: ToolContext = {
    capabilities,
    signal,
    requestInput: inputRequester(params, capabilities),
    log(data) {
      const isRequested = level >= 0 && level <= LEVELS.indexOf('info');
      if (isRequested) notify('notifications/message', { level: 'info', logger: SERVER.name, data });
    },
    progress(progress) {
      if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress, total: 100 });
    },
    changeList(list) {
      toggleEntry(list);
      for (const notifyListener of listeners) notifyListener(list);
    },
    closeStream() {},
    async inTask(work, { required = false } = {}) {
      if (supportsTasks(capabilities)) return taskStore.create(context, work);
      if (required) throw missingTasks();
      return work(context);
    },
  };
  return context;
}

function supportsTasks({ extensions }: JsonObject): boolean {
  return isObject(extensions) && extensions[TASKS] !== undefined;
}

function missingTasks(): Failure {
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  return new Failure(MISSING_CAPABILITY, 'The client does not support tasks.', { requiredCapabilities });
}

function listenTo(id: string | number, params: JsonObject, { signal, notify }: RequestChannel): Promise<JsonObject> {
  const wanted = isObject(params.notifications) ? params.notifications : {};
  const _meta = { [KEY('subscriptionId')]: id };
  const onChange = (list: List) => {
    if (wanted[`${list}ListChanged`] === true) notify(`notifications/${list}/list_changed`, { _meta });
  };
  listeners.add(onChange);
  notify('notifications/subscriptions/acknowledged', { notifications: wanted, _meta });
  return new Promise((resolve) => {
    const end = () => {
      listeners.delete(onChange);
      resolve({ _meta });
    };
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Converts a thrown value to a JSON-RPC error. */
export function toRpcError(thrown: unknown): JsonObject & { readonly code: number } {
  const { message } = thrown as Error;
  if (!(thrown instanceof Failure)) return { code: -32603, message };
  return { code: thrown.code, message, ...(thrown.data && { data: thrown.data }) };
}

/** Serves the fixture over Streamable HTTP without sessions. */
export function modernFixture(): Promise<HttpServer> {
  return listen(modernHttp({ handleRequest, toRpcError, tools }));
}

function serveStdio(): void {
  const inFlight = new Map<unknown, AbortController>();
  const write = (message: JsonObject) =>
    void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  createInterface({ input: process.stdin }).on('line', async (message) => {
    const { id, method, params = {} } = JSON.parse(message);
    if (method === 'notifications/cancelled') inFlight.get(params.requestId)?.abort();
    if (id === undefined) return;
    const controller = new AbortController();
    inFlight.set(id, controller);
    try {
      if (method === 'initialize') throw new Failure(METHOD_NOT_FOUND, 'This server has no sessions.');
      const notify = (name: string, fields: JsonObject) => write({ method: name, params: fields });
      write({ id, result: await handleRequest({ id, method, params }, { signal: controller.signal, notify }) });
    } catch (thrown) {
      write({ id, error: toRpcError(thrown) });
    }
    inFlight.delete(id);
  });
}

if (import.meta.main) {
  if (process.argv.includes('--stdio')) serveStdio();
  else process.stdout.write(`${(await modernFixture()).url}\n`);
}
