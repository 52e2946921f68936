import type { IncomingMessage } from 'node:http';
import type { Caller, JsonObject } from '../core/call.ts';
import type { SignIns } from '../core/records/sign-in.ts';
import { type ApiRefusal, readJsonBody } from './read-json-body.ts';

/** The address of the list of sign-ins. The actions are below it, each a POST with a JSON object. */
export const SIGN_INS_PATH = '/api/sign-ins';

const MAX_BODY_BYTES = 64 * 1024;

interface Action {
  /** The fields of the body; true if required. All are texts. */
  readonly fields: Readonly<Record<string, boolean>>;
  run(signIns: SignIns, by: Caller, options: { readonly body: Body; readonly signal: AbortSignal }): Promise<object>;
}

type Body = Readonly<Record<string, string>>;

const ACTIONS: Readonly<Record<string, Action>> = {
  begin: {
    fields: { server: true, redirectUri: true },
    run: (signIns, by, { body: { server = '', redirectUri = '' }, signal }) =>
      signIns.begin(by, server, { redirect: redirectUri, signal }),
  },
  finish: {
    fields: { server: true, query: true, state: false },
    run: (signIns, by, { body: { server = '', query = '', state }, signal }) =>
      signIns.finish(by, server, { query, ...(state !== undefined && { state }), signal }),
  },
  cancel: {
    fields: { server: true, state: true },
    async run(signIns, by, { body: { server = '', state = '' } }) {
      await signIns.cancel(by, server, state);
      return {};
    },
  },
  forget: {
    fields: { server: true },
    run: (signIns, by, { body: { server = '' }, signal }) => signIns.forget(by, server, signal),
  },
};

/** The response of the API, or the refusal of a request. */
type Answer = { readonly status: 200; readonly body: JsonObject } | ApiRefusal;

export interface SignInRequest {
  readonly request: IncomingMessage;
  readonly by: Caller;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
}

/** Handles `/api/sign-ins` and the actions below it. Roles are checked by `signIns`. */
export async function answerSignIns(signIns: SignIns, path: string, incoming: SignInRequest): Promise<Answer> {
  const { request, by } = incoming;
  if (path === SIGN_INS_PATH) {
    if (request.method !== 'GET') return { status: 405, error: 'Only GET is allowed.' };
    return { status: 200, body: { signIns: (await signIns.list(by)).map((one) => ({ ...one })) } };
  }
  const name = path.slice(SIGN_INS_PATH.length + 1);
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) return { status: 404, error: `There is no resource at ${path}.` };
  if (request.method !== 'POST') return { status: 405, error: 'Only POST is allowed.' };
  const { body, refusal } = await readJsonBody(request, MAX_BODY_BYTES);
  if (!body) return refusal;
  const wrong = wrongField(action, body);
  if (wrong !== undefined) return { status: 400, error: `The field ${wrong} is missing, unknown or invalid.` };
  const result = await action.run(signIns, by, { body: body as Body, signal: incoming.signal });
  return { status: 200, body: { ...result } };
}

function wrongField({ fields }: Action, body: JsonObject): string | undefined {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) return unknown;
  return Object.entries(fields).find(([name, isRequired]) => {
    const value = body[name];
    return value === undefined ? isRequired : typeof value !== 'string' || value === '';
  })?.[0];
}
