import { isObject } from '../../core/json.ts';
import type { Problem, SourceFile } from '../config.ts';
import type { FoundConnector } from '../merge-connectors.ts';
import type { Variables } from '../read/expand.ts';
import { type Layer, type LayerServer, toLayer } from '../read/layer.ts';
import { parseDocument } from '../read/parse-document.ts';
import { BUILTINS } from '../schema/server-name.ts';
import { type Remote, remoteDocument, shownUrl } from './remote-document.ts';

export interface ConnectorOptions {
  readonly remote: Remote;
  readonly variables: Variables;
  readonly folder: string;
  /** Tells whether the user trusts a connector of the project. */
  readonly trusts: (connector: FoundConnector) => boolean;
}

/** The servers of one connector, or the reason why it has none. */
export interface Fetched {
  readonly files: readonly SourceFile[];
  readonly layers: readonly Layer[];
  readonly problems: readonly Problem[];
  readonly refreshed: Promise<boolean>;
}

/** Fetches the servers of all connectors at the same time. A failed connector does not affect the others. */
export async function readConnectors(
  connectors: readonly FoundConnector[],
  options: ConnectorOptions,
): Promise<readonly Fetched[]> {
  return Promise.all(connectors.map((connector) => readConnector(connector, options)));
}

async function readConnector(connector: FoundConnector, options: ConnectorOptions): Promise<Fetched> {
  const nothing = { files: [], layers: [], problems: [], refreshed: Promise.resolve(false) };
  // A fetch sends a token to an address that the project's author chose.
  if (connector.needsTrust && !options.trusts(connector)) return { ...nothing, problems: [untrusted(connector)] };
  const { url, token } = connector;
  const request = { url, validate: findInvalidServers, ...(token !== undefined && { token }) };
  const { text, failure, refreshed } = await remoteDocument(request, options.remote);
  const problems = failure === undefined ? [] : [fetchProblem(connector, failure, text !== undefined)];
  const file = shownUrl(url);
  // A connector in an organisation's file has the precedence of that file.
  const scope = connector.scope === 'enterprise' ? 'enterprise' : 'connector';
  const document = text === undefined ? undefined : parseDocument(file, text);
  if (document === undefined || !('root' in document)) {
    return { ...nothing, files: [{ file, scope, state: 'broken' }], problems, refreshed };
  }
  const { folder } = options;
  const variables = { ...options.variables, listed: new Set(connector.variables) };
  const layer = toLayer(scope, { document, foreign: true, variables, folder, serversAt: ['mcpServers'] });
  const found = scope === 'enterprise' ? layer.servers : layer.servers.map((server) => withTrust(server, connector));
  const layers = [{ ...layer, servers: found, needsTrust: connector.needsTrust }];
  return { files: [{ file, scope, state: 'found' }], layers, problems, refreshed };
}

// Keys that neither run a program here nor change how calls to this or another server are treated.
const HARMLESS = new Set([
  'url',
  'headers',
  'description',
  'enabled',
  'autoConnect',
  'timeoutMs',
  'connectTimeoutMs',
  'maxMessageBytes',
  'limits',
  'reconnect',
  'health',
]);
const PLAIN_TYPES: readonly unknown[] = [undefined, 'http', 'sse', 'ws'];

/** Marks a server that needs the user's trust: all except a plain address that replaces no built-in server. */
function withTrust(server: LayerServer, connector: FoundConnector): LayerServer {
  const { type, ...others } = server.written ?? {};
  const isAddress = PLAIN_TYPES.includes(type) || (type === 'proxy' && isAtOrigin(server, connector));
  const plain = isAddress && Object.keys(others).every((key) => HARMLESS.has(key));
  return { ...server, needsTrust: !plain || BUILTINS.has(server.name) };
}

/** Tests whether a `proxy` entry gets the token of its own connector, which is sent there anyway. */
const isAtOrigin = ({ entry }: LayerServer, { url }: FoundConnector): boolean =>
  entry !== undefined && 'url' in entry && new URL(entry.url).origin === new URL(url).origin;

function findInvalidServers(text: string): string | undefined {
  const document = parseDocument('response', text);
  if (!('root' in document)) return 'is not JSON';
  return isObject(document.root.mcpServers) ? undefined : 'has no `mcpServers`';
}

function fetchProblem(
  { name, at }: FoundConnector,
  failure: Pick<Problem, 'code' | 'message'>,
  isCached: boolean,
): Problem {
  const outcome = isCached ? 'Its last good response is used.' : 'Its servers are missing.';
  return {
    level: isCached ? 'warn' : 'error',
    code: failure.code,
    message: `The connector \`${name}\` cannot be read: ${failure.message} ${outcome}`,
    fix: 'Check its `url` and `token`, or ask its operator.',
    at,
  };
}

function untrusted({ name, at }: FoundConnector): Problem {
  return {
    level: 'warn',
    code: 'CONFIG_INVALID',
    message: `The connector \`${name}\` comes with the project and is not trusted, so its servers are not fetched.`,
    fix: 'Run `heddle trust` if you want its servers.',
    at,
  };
}
