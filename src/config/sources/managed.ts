import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Problem, SourceLocation } from '../config.ts';
import type { Document, JsonPath } from '../document.ts';
import { checkBySchema, describeIssues, valueAt } from '../read/describe-issue.ts';
import { type Variables, withoutHeddleVariables } from '../read/expand.ts';
import { type Layer, toLayer } from '../read/layer.ts';
import { parseDocument } from '../read/parse-document.ts';
import type { FileReading } from '../read/read-file.ts';
import { keysAt } from '../read/schema-keys.ts';
import { managedResponse, managedSchema } from '../schema/managed-schema.ts';
import type { ManagedFiles } from './find-managed.ts';
import { type Remote, remoteDocument, shownUrl } from './remote-document.ts';
import { blockAll, type Judge, judgeBy, type PolicyRule } from './server-policy.ts';

/** The rules and servers of an organisation for this machine. */
export interface Managed {
  readonly layers: readonly Layer[];
  readonly judges: readonly Judge[];
  /** The location of the rule that excludes all other sources of servers, if there is one. */
  readonly exclusive?: SourceLocation;
  readonly problems: readonly Problem[];
  readonly refreshed: Promise<boolean>;
}

export interface ManagedOptions {
  readonly variables: Variables;
  readonly remote: Remote;
}

/** Reads the managed files. A file that cannot be read blocks every server, so that no rule is lost silently. */
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

type PartOfManaged = Partial<Managed>;

const blocked = (problem: Problem): PartOfManaged => ({ judges: [blockAll(problem)], problems: [problem] });

function readServers({ servers: reading, folder }: ManagedFiles, { variables }: ManagedOptions): PartOfManaged {
  if (reading.state === 'absent') return {};
  if (reading.state === 'broken') return blocked(reading.problem);
  const { document } = reading;
  const layer = toLayer('enterprise', { document, foreign: false, variables, folder });
  return { layers: [layer], exclusive: document.locate([]) };
}

interface ManagedSettings extends PartOfManaged {
  readonly managedUrl?: string;
  readonly managedToken?: string;
  readonly at?: SourceLocation;
}

function readSettings(reading: FileReading): ManagedSettings {
  if (reading.state === 'absent') return {};
  if (reading.state === 'broken') return blocked(reading.problem);
  const { document } = reading;
  const [problem] = findProblems(document, managedSchema);
  if (problem !== undefined) return blocked(problem);
  const { managedUrl, managedToken } = managedSchema.parse(document.root);
  return {
    judges: [judgeBy(policyOf(document))],
    at: document.locate(['managedUrl'], 'name'),
    ...(managedUrl !== undefined && { managedUrl }),
    ...(managedToken !== undefined && { managedToken }),
  };
}

function findProblems(document: Document, schema: typeof managedSchema | typeof managedResponse): readonly Problem[] {
  const value = document.root;
  const checked = { document, at: [], value, knownKeys: (path: JsonPath) => keysAt(schema, path) };
  const found = document.findings.filter(({ problem }) => problem.level === 'error');
  const issues = describeIssues(checkBySchema(schema, value).issues, checked);
  return [...found, ...issues].map(({ problem }) => problem);
}

function policyOf(document: Document) {
  const { root } = document;
  const allowed = ['allowedServers', 'allowedMcpServers'].filter((list) => root[list] !== undefined);
  const rules = (lists: readonly string[]) => lists.flatMap((list) => rulesOf(document, list));
  const at = document.locate([]);
  const policy = { denied: rules(['deniedServers', 'deniedMcpServers']), at };
  if (allowed[0] === undefined) return policy;
  return { ...policy, allowed: { rules: rules(allowed), at: document.locate([allowed[0]], 'name') } };
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
      at: document.locate([list, index, kind], 'name'),
    }));
  });
}

async function readRemote(
  { managedUrl: url, managedToken, at }: ManagedSettings,
  options: ManagedOptions,
): Promise<PartOfManaged> {
  if (url === undefined) return {};
  const { variables, remote } = options;
  const token = managedToken ?? variables.env.HEDDLE_MANAGED_TOKEN;
  const request = { url, validate: findInvalidResponse, ...(token && { token }) };
  const { text, failure, refreshed } = await remoteDocument(request, remote);
  const problems = failure === undefined ? [] : [fetchProblem(failure, at, text !== undefined)];
  const document = parseDocument(shownUrl(url), text ?? '');
  if (text === undefined || !('root' in document)) return { ...problems.map(blocked)[0], refreshed };
  const part = { judges: [judgeBy(policyOf(document))], problems, refreshed };
  if (document.root.mcpServers === undefined) return part;
  const { workspaceFolder: folder } = variables;
  const own = withoutHeddleVariables(variables);
  const layer = toLayer('enterprise', { document, foreign: true, variables: own, folder, serversAt: ['mcpServers'] });
  return { ...part, layers: [layer], exclusive: document.locate(['mcpServers'], 'name') };
}

function findInvalidResponse(text: string): string | undefined {
  const document = parseDocument('response', text);
  if (!('root' in document)) return 'is not JSON';
  return findProblems(document, managedResponse).length === 0
    ? undefined
    : 'does not match the managed settings schema';
}

function fetchProblem(
  failure: Pick<Problem, 'code' | 'message'>,
  at: SourceLocation | undefined,
  isCached: boolean,
): Problem {
  const outcome = isCached ? 'The last good response is in force.' : 'Until they can be fetched, no server is used.';
  return {
    level: isCached ? 'warn' : 'error',
    code: failure.code,
    message: `The managed settings cannot be fetched: ${failure.message} ${outcome}`,
    fix: 'Check the network, or ask the administrator of this machine.',
    ...(at && { at }),
  };
}
