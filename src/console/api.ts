import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller, JsonObject } from '../core/call.ts';
import type { ErrorCode } from '../core/error-codes.ts';
import { HeddleError } from '../core/errors.ts';
import { VERSION } from '../core/version.ts';
import type { Heddle } from '../heddle.ts';
import { APPROVALS_PATH, answerApprovals } from './approval-api.ts';
import { type CommandApiOptions, commandApi } from './command-api.ts';
import { COMMAND_PROOF, COMMAND_ROUTES } from './command-wire.ts';
import type { ApiRefusal } from './read-json-body.ts';
import { answerSignIns, SIGN_INS_PATH } from './sign-in-api.ts';

interface ApiRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

/**
 * Handles the JSON API of the console: state of the running gateway that is not in the store. With `commands`, commands
 * of the same user run in this gateway.
 */
export function consoleApi(heddle: Heddle, commands?: CommandApiOptions): (request: ApiRequest) => Promise<void> {
  const runCommand = commands && commandApi(heddle, commands);
  const routes: Record<string, (caller: Caller) => Promise<JsonObject>> = {
    '/api/servers': async (caller) => ({
      servers: (await heddle.servers.list(caller)).map((status) => ({ ...status })),
    }),
    '/api/version': async () => ({ version: VERSION, pid: process.pid }),
  };

  async function show({ request, response, caller }: ApiRequest, path: string): Promise<void> {
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (!route) return send(response, 404, { error: `There is no resource at ${path}.` });
    if (request.method !== 'GET') return send(response, 405, { error: 'Only GET is allowed.' });
    try {
      return send(response, 200, await route(caller));
    } catch (thrown) {
      const { fault, message } = HeddleError.from(thrown);
      if (fault !== 'denied') throw thrown;
      return send(response, 403, { error: message });
    }
  }

  function signIns({ request, response, caller }: ApiRequest, path: string): Promise<Answer> {
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    return answerSignIns(heddle.signIns, path, { request, by: caller, signal: closed.signal });
  }

  function approvals({ request, caller }: ApiRequest, path: string): Promise<Answer> {
    const isCommand = () => commands?.callerOf(caller, request.headers[COMMAND_PROOF]) !== undefined;
    return answerApprovals(heddle.approvals, path, { request, by: { ...caller, via: 'console' }, isCommand });
  }

  return async function api(incoming) {
    const { request, response } = incoming;
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    if (isAtOrBelow(SIGN_INS_PATH, path)) return respond(response, () => signIns(incoming, path));
    if (isAtOrBelow(APPROVALS_PATH, path)) return respond(response, () => approvals(incoming, path));
    if (!runCommand || !path.startsWith(COMMAND_ROUTES)) return show(incoming, path);
    const refusal = await runCommand(incoming, path.slice(COMMAND_ROUTES.length));
    if (refusal) send(response, refusal.status, { error: refusal.error });
  };
}

const STATUSES = { caller: 400, denied: 403, upstream: 502 } as const;
const STATUSES_OF_CODES: Partial<Record<ErrorCode, number>> = { NAME_UNKNOWN: 404, APPROVAL_SETTLED: 409 };

const isAtOrBelow = (root: string, path: string) => path === root || path.startsWith(`${root}/`);

type Answer = { readonly status: 200; readonly body: JsonObject } | ApiRefusal;

/** Sends the answer to a request, or the error that it failed with. */
async function respond(response: ServerResponse, run: () => Promise<Answer>): Promise<void> {
  try {
    const answer = await run();
    return send(response, answer.status, 'body' in answer ? answer.body : { error: answer.error });
  } catch (thrown) {
    const { code, fault, message, fix } = HeddleError.from(thrown);
    if (fault === 'internal') throw thrown;
    return send(response, STATUSES_OF_CODES[code] ?? STATUSES[fault], { error: message, code, fix });
  }
}

function send(response: ServerResponse, status: number, body: JsonObject): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body));
}
