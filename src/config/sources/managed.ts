import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem, SourceLocation } from '../config.ts';
import { describeIssues, valueAt } from '../read/describe-issue.ts';
import { type Variables, withoutOurs } from '../read/expand.ts';
import { type Layer, toLayer } from '../read/layer.ts';
import { type Document, type JsonPath, parseDocument } from '../read/parse-document.ts';
import type { FileReading } from '../read/read-file.ts';
import { keysAt } from '../read/schema-keys.ts';
import { managedAnswer, managedSchema } from '../schema/managed-schema.ts';
import type { ManagedFiles } from './find-managed.ts';
import { type Remote, remoteDocument, shownUrl } from './remote-document.ts';
import { closedBecause, type Judge, judgeBy, type PolicyRule } from './server-policy.ts';

/** What an organisation says about this machine. */
export interface Managed {
  readonly layers: readonly Layer[];
  readonly judges: readonly Judge[];
  /** Where it is said that no other source of servers counts. */
  readonly exclusive?: SourceLocation;
  readonly problems: readonly Problem[];
  readonly refreshed: Promise<boolean>;
}

export interface ManagedOptions {
  readonly variables: Variables;
  readonly remote: Remote;
}

/** Reads the managed files. One that cannot be read blocks every server: no rule must be lost without a word. */
export async function readManaged(files: ManagedFiles, options: ManagedOptions): Promise<Managed> {
  const servers = readServers(files, options);
  const settings = readSettings(files.settings);
  const remote = await readRemote(settings, options);
  const parts = [servers, settings, remote];
  const exclusive = parts.find((part) => part.exclusive !== undefined)?.exclusive;
  return {
    layers: parts.flatMap(({ layers = [] }) => layers),
    judges: parts.flatMap(({ judges = [] }) => judges),
    problems: parts.flatMap(({ problems = [] }) => problems),
    ...(exclusive && { exclusive }),
    refreshed: remote.refreshed ?? Promise.resolve(false),
  };
}

type Part = Partial<Managed>;

const closed = (problem: Problem): Part => ({ judges: [closedBecause(problem)], problems: [problem] });

function readServers({ servers: reading, folder }: ManagedFiles, { variables }: ManagedOptions): Part {
  if (reading.state === 'absent') return {};
  if (reading.state === 'broken') return closed(reading.problem);
  const { document } = reading;
  const layer = toLayer('enterprise', { document, foreign: false, variables, folder });
  return { layers: [layer], exclusive: document.placeOf([]) };
}

interface Settings extends Part {
  readonly managedUrl?: string;
  readonly managedToken?: string;
  readonly at?: SourceLocation;
}

function readSettings(reading: FileReading): Settings {
  if (reading.state === 'absent') return {};
  if (reading.state === 'broken') return closed(reading.problem);
  const { document } = reading;
  const [problem] = complaintsAbout(document, managedSchema);
  if (problem !== undefined) return closed(problem);
  const { managedUrl, managedToken } = managedSchema.parse(document.root);
  return {
    judges: [judgeBy(policyOf(document))],
    at: document.placeOf(['managedUrl'], 'name'),
    ...(managedUrl !== undefined && { managedUrl }),
    ...(managedToken !== undefined && { managedToken }),
  };
}

function complaintsAbout(document: Document, schema: typeof managedSchema | typeof managedAnswer): readonly Problem[] {
  const value = document.root;
  const checked = { document, at: [], value, knownKeys: (path: JsonPath) => keysAt(schema, path) };
  const found = document.findings.filter(({ problem }) => problem.level === 'error');
  const complaints = describeIssues(schema.safeParse(value).error?.issues ?? [], checked);
  return [...found, ...complaints].map(({ problem }) => problem);
}

function policyOf(document: Document) {
  const { root } = document;
  const allowed = ['allowedServers', 'allowedMcpServers'].filter((list) => root[list] !== undefined);
  const rules = (lists: readonly string[]) => lists.flatMap((list) => rulesOf(document, list));
  const at = document.placeOf([]);
  const policy = { denied: rules(['deniedServers', 'deniedMcpServers']), at };
  if (allowed[0] === undefined) return policy;
  return { ...policy, allowed: { rules: rules(allowed), at: document.placeOf([allowed[0]], 'name') } };
}

function rulesOf(document: Document, list: string): readonly PolicyRule[] {
  const written = valueAt(document.root, [list]);
  return (Array.isArray(written) ? written : []).flatMap((rule: Json, index) => {
    const { env, ...criteria } = isObject(rule) ? rule : {};
    return Object.entries(criteria).map(([kind, value]) => ({
      kind: kind as PolicyRule['kind'],
      value: value as PolicyRule['value'],
      ...(env !== undefined && { env: env as readonly string[] }),
      key: `${list}[${index}].${kind}`,
      at: document.placeOf([list, index, kind], 'name'),
    }));
  });
}

async function readRemote({ managedUrl: url, managedToken, at }: Settings, options: ManagedOptions): Promise<Part> {
  if (url === undefined) return {};
  const { variables, remote } = options;
  const token = managedToken ?? variables.env.HEDDLE_MANAGED_TOKEN;
  const request = { url, complain: complainAboutAnswer, ...(token && { token }) };
  const { text, failure, refreshed } = await remoteDocument(request, remote);
  const problems = failure === undefined ? [] : [silent(failure, at, text !== undefined)];
  const document = parseDocument(shownUrl(url), text ?? '');
  if (text === undefined || !('root' in document)) return { ...problems.map(closed)[0], refreshed };
  const part = { judges: [judgeBy(policyOf(document))], problems, refreshed };
  if (document.root.mcpServers === undefined) return part;
  const { workspaceFolder: folder } = variables;
  const around = { document, foreign: true, variables: withoutOurs(variables), folder, serversAt: ['mcpServers'] };
  const layer = toLayer('enterprise', around);
  return { ...part, layers: [layer], exclusive: document.placeOf(['mcpServers'], 'name') };
}

function complainAboutAnswer(text: string): string | undefined {
  const document = parseDocument('answer', text);
  if (!('root' in document)) return 'is not JSON';
  return complaintsAbout(document, managedAnswer).length === 0 ? undefined : 'is not what managed settings look like';
}

function silent(failure: Pick<Problem, 'code' | 'message'>, at: SourceLocation | undefined, served: boolean): Problem {
  const outcome = served ? 'Its last good answer is in force.' : 'Until it answers no server is used.';
  return {
    level: served ? 'warn' : 'error',
    code: failure.code,
    message: `The managed settings cannot be fetched: ${failure.message} ${outcome}`,
    fix: 'Check the network, or ask who manages this machine.',
    ...(at && { at }),
  };
}
