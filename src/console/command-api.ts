import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireRole } from '../core/call/caller.ts';
import { isRepeatable } from '../core/call/repeatable.ts';
import type { Call, Caller, ClientCapabilities, JsonObject, Result } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { ApprovalVerdict } from '../core/records/approval.ts';
import type { Heddle, ListQuery } from '../heddle.ts';
import { isCommandRoute, wrongFieldOf } from './command-fields.ts';
import { type CommandPrompts, commandPrompts } from './command-prompts.ts';
import {
  COMMAND_MEDIA_TYPE,
  COMMAND_PROOF,
  type CommandMessage,
  type CommandRoute,
  toWireError,
  toWireTarget,
  type WireCall,
} from './command-wire.ts';
import { type ApiRefusal, readJsonBody } from './read-json-body.ts';
import { RUN_ROUTES } from './run-routes.ts';
import { startingServers } from './starting-servers.ts';

export interface CommandApiOptions {
  /**
   * Returns the caller that a command acts as: the user for the owner's token, or an API key. Returns undefined without
   * the proof of a command: a client with the token alone may not approve its own calls.
   */
  readonly callerOf: (caller: Caller, proof: unknown) => Caller | undefined;
  readonly maxBodyBytes: number;
}

export interface CommandRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

/** A request in progress. */
interface Running {
  readonly body: JsonObject;
  readonly by: Caller;
  readonly heddle: Heddle;
  /** `dispatch` and `catalog` with the wait that the command chose. */
  readonly view: Pick<Heddle, 'dispatch' | 'catalog'>;
  /** Aborts when the command closes the connection. */
  readonly signal: AbortSignal;
  readonly write: (line: CommandMessage) => void;
  readonly prompts: CommandPrompts;
}

type Run = (running: Running) => Promise<unknown>;

const NO_COMMAND: ApiRefusal = {
  status: 403,
  error: 'Only commands of the user who runs the gateway may do this.',
};

/** Unread bytes from which lines of progress are left out. */
const MAX_UNREAD_BYTES = 1024 * 1024;

const ROUTES: Readonly<Record<CommandRoute, Run>> = {
  dispatch,
  async list({ body, by, view, signal }) {
    const { items, next } = await view.catalog.list(by, { ...(body as ListQuery), signal });
    return { items: items.map(toWireTarget), next };
  },
  describe: async ({ body, by, view, signal }) =>
    toWireTarget(await view.catalog.describe(by, String(body.name), signal)),
  async known({ body, by, view }) {
    const target = await view.catalog.known(by, String(body.name));
    return target ? toWireTarget(target) : null;
  },
  async search({ body, by, view, signal }) {
    const { text, limit } = body as { text: string; limit?: number };
    const hits = await view.catalog.search(by, { text, ...(limit !== undefined && { limit }), signal });
    return hits.map(({ target, ...hit }) => ({ ...hit, target: toWireTarget(target) }));
  },
  categories: ({ by, view, signal }) => view.catalog.categories(by, signal),
  'hidden-by': async ({ body, by, view }) => (await view.catalog.hiddenBy(by, String(body.name))) ?? null,
  servers: ({ by, heddle }) => heddle.servers.list(by),
  connect: ({ body, by, heddle, signal }) => heddle.servers.connect(by, String(body.name), signal),
  approval: ({ body, by, heddle }) => heddle.approvals.get(by, String(body.approval)),
  decide: ({ body, by, heddle }) => {
    const { approval, ...verdict } = body as unknown as ApprovalVerdict & { readonly approval: string };
    return heddle.approvals.decide(by, approval, verdict);
  },
  settled: ({ body, by, heddle, signal }) => heddle.approvals.settled(by, String(body.approval), signal),
  ...RUN_ROUTES,
};

/** The routes that need the role of a caller of tools. The others check roles themselves, or concern own runs and calls. */
const CALLER_ROUTES: ReadonlySet<CommandRoute> = new Set([
  ...(['dispatch', 'list', 'describe', 'known', 'search', 'categories'] as const),
  ...(['workflows', 'workflow', 'lint', 'plan', 'chart', 'start'] as const),
]);

/** Throws PERMISSION_DENIED if the roles or the profile of an API key do not permit a route. */
function requirePermitted(route: CommandRoute, by: Caller, { access }: Pick<Heddle, 'access'>): void {
  if (CALLER_ROUTES.has(route)) requireRole(by, ['user', 'owner']);
  const { profile } = by;
  if (profile === undefined || Object.hasOwn(access.settings().profiles, profile)) return;
  throw new HeddleError('PERMISSION_DENIED', `The profile ${profile} of ${by.id} does not exist.`, {
    fix: 'Add it to `profiles`, or use another key.',
  });
}

/** Runs a call as the caller of the command. The result `input-required` keeps its signal, for `finish`. */
async function dispatch({ body, by, view, signal, write }: Running): Promise<Result> {
  const { progress, session, ...call } = body as unknown as WireCall;
  const { capabilities } = by;
  const whole: Call = {
    ...call,
    caller: session === undefined ? by : { ...by, session },
    signal,
    ...(capabilities && { capabilities }),
    ...(progress && { onProgress: (params: JsonObject) => write({ progress: params }) }),
  };
  if (call.kind === 'tool') void announceTarget(whole, view, write);
  return view.dispatch(whole);
}

/** Sends the tool of a call while the call runs. If there is none, the call itself fails with the reason. */
async function announceTarget(call: Call, { catalog }: Running['view'], write: Running['write']): Promise<void> {
  try {
    const target = await catalog.describe(call.caller, call.name, call.signal);
    const { publicName: name, servers } = target;
    write({ target: { name, server: servers[0], repeatable: isRepeatable({ ...call, target }) } });
  } catch {
    // The call fails with the same error.
  }
}

/** Handles the requests of commands that use this gateway instead of starting servers themselves. */
export function commandApi(heddle: Heddle, options: CommandApiOptions) {
  const { callerOf, maxBodyBytes } = options;
  const patient = heddle.waiting(Number.POSITIVE_INFINITY);
  const impatient = heddle.waiting(0);
  const prompts = commandPrompts();

  return async function handle(incoming: CommandRequest, route: string): Promise<ApiRefusal | undefined> {
    const { request, response, caller } = incoming;
    const user = callerOf(caller, request.headers[COMMAND_PROOF]);
    if (!user) return NO_COMMAND;
    if (!isCommandRoute(route)) return { status: 404, error: 'There is no such route for commands.' };
    if (request.method !== 'POST') return { status: 405, error: 'Only POST is allowed.' };
    const { body, refusal } = await readJsonBody(request, maxBodyBytes);
    if (!body) return refusal;
    const wrong = wrongFieldOf(route, body);
    if (wrong !== undefined) return { status: 400, error: `The field ${wrong} is missing, unknown or invalid.` };
    const capabilities = body.capabilities as ClientCapabilities | undefined;
    const by = capabilities ? { ...user, capabilities } : user;
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    response.writeHead(200, { 'content-type': COMMAND_MEDIA_TYPE, 'cache-control': 'no-store' });
    const { capabilities: _, wait, starting, ...fields } = body;
    const view = wait === true ? patient : impatient;
    const running = { body: fields, by, heddle, view, signal: closed.signal, write: writerOf(response), prompts };
    const act: Run = async (one) => {
      requirePermitted(route, by, heddle);
      return ROUTES[route](one);
    };
    await respond(act, running, { response, starting: starting === true });
    return undefined;
  };
}

interface Responding {
  readonly response: ServerResponse;
  readonly starting: boolean;
}

async function respond(run: Run, running: Running, { response, starting }: Responding): Promise<void> {
  const { by, heddle, signal, write } = running;
  const done = new AbortController();
  if (starting) void reportStarting(heddle, by, { signal: AbortSignal.any([signal, done.signal]), write });
  let last: CommandMessage;
  let withdrawn: AbortSignal | undefined;
  let isUnfinished = false;
  try {
    const result = await run(running);
    last = { result };
    if (isResult(result) && result.kind === 'input-required') {
      const { withdrawn: signal, ...rest } = result;
      [last, withdrawn, isUnfinished] = [{ result: rest }, signal, true];
    }
  } catch (thrown) {
    last = { error: toWireError(thrown) };
  }
  done.abort();
  const text = `${JSON.stringify(last)}\n`;
  if (!isUnfinished) response.end(text);
  else {
    // Stays open: a command that ends while its user is asked cancels the call by closing it.
    response.write(text);
    withdrawn?.addEventListener('abort', () => write({ withdrawn: true }), { once: true });
    if (withdrawn?.aborted) write({ withdrawn: true });
  }
}

const isResult = (value: unknown): value is Result => isObject(value) && typeof value.kind === 'string';

async function reportStarting(
  heddle: Heddle,
  by: Caller,
  { signal, write }: Pick<Running, 'signal' | 'write'>,
): Promise<void> {
  try {
    for await (const names of startingServers(heddle, by, signal)) write({ starting: names });
  } catch {
    // An API key may lack the role to see servers.
  }
}

function writerOf(response: ServerResponse): (line: CommandMessage) => void {
  return (line) => {
    if (response.writableEnded || response.destroyed || response.writableLength > MAX_UNREAD_BYTES) return;
    response.write(`${JSON.stringify(line)}\n`);
  };
}
