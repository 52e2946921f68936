import type { Json, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { ENDED_STATUSES } from '../core/records/run.ts';
import type { CommandRoute } from './command-wire.ts';

type FieldType =
  | 'text'
  | 'id'
  | 'count'
  | 'flag'
  | 'yes'
  | 'self'
  | 'object'
  | 'callKind'
  | 'entryKind'
  | 'options'
  | 'capabilities'
  | 'continuation'
  | 'responses'
  | 'verdict'
  | 'approval'
  | 'choice'
  | 'value'
  | 'runStatus'
  | 'resolution';
/** The fields of a JSON object. A field whose type ends with `?` may be absent. */
type Fields = Readonly<Record<string, FieldType | `${FieldType}?`>>;

const MAX_ID_CHARS = 64;
const CAPABILITIES: Fields = { form: 'flag', url: 'flag', sampling: 'flag', samplingTools: 'flag', roots: 'flag' };
const OPTIONS: Fields = { timeoutMs: 'count?', failover: 'flag?', preferredServer: 'text?' };
const APPROVAL: Fields = { kind: 'approval', id: 'id' };
const SOURCE: Fields = { name: 'text?', file: 'text?', text: 'text?', value: 'object?', language: 'text?' };
const RUN_STATUSES: readonly string[] = ['running', 'waiting', 'in_doubt', ...ENDED_STATUSES, 'open', 'all'];
const CONTINUATIONS = ['upstream', 'suspended', 'call-again', 'task'];

const CHECKS: Readonly<Record<FieldType, (value: Json) => boolean>> = {
  text: (value) => typeof value === 'string',
  id: (value) => typeof value === 'string' && /^[\w-]+$/.test(value) && value.length <= MAX_ID_CHARS,
  count: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  flag: (value) => typeof value === 'boolean',
  yes: (value) => value === true,
  self: (value) => value === 'self',
  object: isObject,
  callKind: (value) => ['tool', 'resource', 'prompt', 'completion'].includes(String(value)),
  entryKind: (value) => ['tool', 'resource', 'template', 'prompt'].includes(String(value)),
  options: (value) => isObject(value) && wrongField(value, OPTIONS) === undefined,
  capabilities: (value) => isObject(value) && wrongField(value, CAPABILITIES) === undefined,
  continuation: (value) => isObject(value) && (isAtServer(value) || wrongField(value, APPROVAL) === undefined),
  responses: (value) => isObject(value) && Object.values(value).every(isObject),
  verdict: (value) => value === 'approve' || value === 'reject',
  approval: (value) => value === 'approval',
  choice: (value) => typeof value === 'string' || (isObject(value) && wrongField(value, SOURCE) === undefined),
  value: () => true,
  runStatus: (value) => RUN_STATUSES.includes(String(value)),
  resolution: (value) => ['happened', 'not-happened', 'retry'].includes(String(value)),
};

const isAtServer = ({ kind, server }: JsonObject) => CONTINUATIONS.includes(String(kind)) && typeof server === 'string';

/** Fields of every route: the client capabilities of the command, and how long it waits for servers never seen. */
const COMMON: Fields = { capabilities: 'capabilities?', wait: 'flag', starting: 'flag?' };

const FIELDS: Readonly<Record<CommandRoute, Fields>> = {
  dispatch: {
    ...{ id: 'id', kind: 'callKind', name: 'text', input: 'object', meta: 'object', options: 'options' },
    ...{ acceptsTask: 'yes?', approved: 'self?', progress: 'yes?', session: 'id?' },
    ...{ continuation: 'continuation?', inputResponses: 'responses?' },
  },
  list: {
    ...{ kind: 'entryKind?', cursor: 'text?', limit: 'count?', includeInvalid: 'flag?' },
    ...{ server: 'text?', category: 'text?' },
  },
  describe: { name: 'text' },
  known: { name: 'text' },
  search: { text: 'text', limit: 'count?' },
  categories: {},
  'hidden-by': { name: 'text' },
  servers: {},
  connect: { name: 'text' },
  approval: { approval: 'id' },
  decide: { approval: 'id', verdict: 'verdict', note: 'text?', content: 'object?', standing: 'object?' },
  settled: { approval: 'id' },
  workflows: {},
  workflow: { workflow: 'choice' },
  lint: { workflow: 'choice' },
  plan: { workflow: 'choice', input: 'object' },
  chart: { workflow: 'choice' },
  start: {
    ...{ workflow: 'choice', input: 'object', timeoutMs: 'count?', detach: 'yes?' },
    ...{ approved: 'self?', asks: 'yes?' },
  },
  respond: { key: 'id', response: 'object' },
  runs: { status: 'runStatus?', workflow: 'text?', limit: 'count?' },
  run: { run: 'text' },
  events: { run: 'text', after: 'count?' },
  ended: { run: 'text' },
  cancel: { run: 'text', reason: 'text?' },
  resume: { run: 'text' },
  retry: { run: 'text', from: 'text' },
  resolve: { run: 'text', path: 'text?', how: 'resolution', result: 'value?', note: 'text?' },
};

export const isCommandRoute = (name: string): name is CommandRoute => Object.hasOwn(FIELDS, name);

/** Returns the name of a field of a body that is missing, unknown or of another type; undefined if all are right. */
export const wrongFieldOf = (route: CommandRoute, body: JsonObject): string | undefined =>
  wrongField(body, { ...COMMON, ...FIELDS[route] });

function wrongField(body: JsonObject, fields: Fields): string | undefined {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) return unknown;
  return Object.entries(fields).find(([name, type]) => !isRight(body[name], type))?.[0];
}

function isRight(value: Json | undefined, type: string): boolean {
  const isOptional = type.endsWith('?');
  if (value === undefined) return isOptional;
  return CHECKS[(isOptional ? type.slice(0, -1) : type) as FieldType](value);
}
