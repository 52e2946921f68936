import type { IncomingMessage } from 'node:http';
import { ANONYMOUS_ID } from '../core/call/caller.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from '../core/call/vault-principal.ts';
import type { Caller, Json, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import type { ApprovalQuery, ApprovalStatus, ApprovalVerdict } from '../core/records/approval.ts';
import type { Approvals } from '../heddle.ts';
import { type ApiRefusal, readJsonBody } from './read-json-body.ts';

/** The address of the list of approvals. Below it are `<id>`, `<id>/approve`, `<id>/reject` and `standing`. */
export const APPROVALS_PATH = '/api/approvals';

export interface ApprovalRequest {
  readonly request: IncomingMessage;
  readonly by: Caller;
  /** Returns true if the request proves that it is a command of the user who runs the gateway. */
  readonly isCommand: () => boolean;
}

/** The response of the API, or the refusal of a request. */
type Answer = { readonly status: 200; readonly body: JsonObject } | ApiRefusal;

const MAX_BODY_BYTES = 64 * 1024;
const MAX_LIMIT = 1000;
const STATUSES: readonly (ApprovalStatus | 'all')[] = [
  ...(['pending', 'approved', 'rejected', 'timeout', 'expired', 'used', 'void'] as const),
  'all',
];

type Act = (approvals: Approvals, incoming: ApprovalRequest) => Promise<Answer>;

/** Handles `/api/approvals` and the addresses below it. Only a POST decides. Roles are checked by `approvals`. */
export async function answerApprovals(approvals: Approvals, path: string, incoming: ApprovalRequest): Promise<Answer> {
  const [id = '', ...rest] = path.slice(APPROVALS_PATH.length + 1).split('/');
  const isRead = rest.length === 0;
  const act: Act | undefined = isRead ? (...parts) => read(id, ...parts) : actOf(id, rest);
  if (!act) return { status: 404, error: `There is no resource at ${path}.` };
  const method = isRead ? 'GET' : 'POST';
  if (incoming.request.method !== method) return { status: 405, error: `Only ${method} is allowed.` };
  return act(approvals, incoming);
}

/** Returns the act at `<id>/approve`, `<id>/reject` or `standing/<id>/revoke`. */
function actOf(id: string, rest: readonly string[]): Act | undefined {
  const [first = '', second] = rest;
  if (id === 'standing')
    return rest.length === 2 && second === 'revoke' ? (...parts) => revoke(first, ...parts) : undefined;
  if (rest.length > 1 || (first !== 'approve' && first !== 'reject')) return undefined;
  return (...parts) => decide({ id, verdict: first }, ...parts);
}

async function read(id: string, approvals: Approvals, { request, by }: ApprovalRequest): Promise<Answer> {
  if (id === 'standing') return { status: 200, body: { standing: asJson(await approvals.standing.list(by)) } };
  if (id !== '') return { status: 200, body: asJson(await approvals.get(by, id)) as JsonObject };
  const query = queryOf(request);
  if ('error' in query) return query;
  const { items, next } = await approvals.page(by, query);
  return { status: 200, body: { approvals: asJson(items), ...(next !== undefined && { nextCursor: next }) } };
}

/** Records have no methods and no cycles: their JSON is the response. */
const asJson = (value: object): Json => value as Json;

function queryOf({ url = '' }: IncomingMessage): ApprovalQuery | ApiRefusal {
  const parameters = new URLSearchParams(url.split('?')[1]);
  const isUnknown = [...parameters.keys()].some((name) => !['status', 'limit', 'cursor'].includes(name));
  if (isUnknown) return { status: 400, error: 'Only the parameters status, limit and cursor are known.' };
  const status = STATUSES.find((one) => one === (parameters.get('status') ?? 'pending'));
  const limit = Number(parameters.get('limit') ?? MAX_LIMIT);
  if (status === undefined) return { status: 400, error: `status has to be one of ${STATUSES.join(', ')}.` };
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    return { status: 400, error: `limit has to be a number from 1 to ${MAX_LIMIT}.` };
  }
  const cursor = parameters.get('cursor');
  return { status, limit, ...(cursor !== null && { cursor }) };
}

async function revoke(id: string, approvals: Approvals, { request, by }: ApprovalRequest): Promise<Answer> {
  const { body, refusal } = await readJsonBody(request, MAX_BODY_BYTES);
  if (!body) return refusal;
  const [unknown] = Object.keys(body);
  if (unknown !== undefined) return wrongField(unknown);
  await approvals.standing.revoke(by, id);
  return { status: 200, body: {} };
}

interface Decision {
  readonly id: string;
  readonly verdict: ApprovalVerdict['verdict'];
}

async function decide({ id, verdict }: Decision, approvals: Approvals, incoming: ApprovalRequest): Promise<Answer> {
  const { request, by } = incoming;
  const { body, refusal } = await readJsonBody(request, MAX_BODY_BYTES);
  if (!body) return refusal;
  const wrong = wrongFieldOf(body, verdict === 'approve' ? APPROVE_FIELDS : REJECT_FIELDS);
  if (wrong !== undefined) return wrongField(wrong);
  if (verdict === 'approve') await requireOtherRequester(approvals, id, incoming);
  const settled = await approvals.decide(by, id, { ...(body as Omit<ApprovalVerdict, 'verdict'>), verdict });
  return { status: 200, body: asJson(settled) as JsonObject };
}

/**
 * Throws PERMISSION_DENIED if the owner's token would approve a call of the same user. Every client of this user has that
 * token: it proves no decision of a person.
 */
async function requireOtherRequester(approvals: Approvals, id: string, incoming: ApprovalRequest): Promise<void> {
  const { by, isCommand } = incoming;
  if (vaultPrincipal(by) !== OWNER_PRINCIPAL || isCommand()) return;
  const { requestedBy } = await approvals.get(by, id);
  const isOther = vaultPrincipal({ id: requestedBy, roles: ['owner'] }) !== OWNER_PRINCIPAL;
  if (isOther && requestedBy !== ANONYMOUS_ID) return;
  throw new HeddleError(
    'PERMISSION_DENIED',
    `The token of the gateway cannot approve ${id}, a call that may be of the same user.`,
    {
      fix: `Run \`heddle approvals approve ${id}\` in a terminal, or use the key of an approver.`,
    },
  );
}

const wrongField = (name: string): ApiRefusal => ({
  status: 400,
  error: `The field ${name.slice(0, 100)} is missing, unknown or invalid.`,
});

type Check = (value: Json | undefined) => boolean;

const isNote: Check = (value) => typeof value === 'string' && value.trim() !== '' && value.length <= 2000;
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) > 0;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const STANDING_FIELDS: Readonly<Record<string, Check>> = {
  session: optional((value) => typeof value === 'boolean'),
  untilMs: optional(isCount),
  uses: optional(isCount),
  exactly: optional((value) => typeof value === 'boolean'),
  arguments: optional((value) => isObject(value) && Object.values(value).every((glob) => typeof glob === 'string')),
};
const APPROVE_FIELDS: Readonly<Record<string, Check>> = {
  note: optional(isNote),
  standing: optional((value) => isObject(value) && wrongFieldOf(value, STANDING_FIELDS) === undefined),
};
const REJECT_FIELDS: Readonly<Record<string, Check>> = { note: isNote };

/** Returns the name of a field that is missing, unknown or invalid; undefined if all are right. */
function wrongFieldOf(body: JsonObject, fields: Readonly<Record<string, Check>>): string | undefined {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(fields, name));
  return unknown ?? Object.entries(fields).find(([name, check]) => !check(body[name]))?.[0];
}
