import type { Config } from './config.ts';
import { mergeConfig } from './merge.ts';
import { connectorsOf } from './merge-connectors.ts';
import type { MergeSettings } from './merge-settings.ts';
import type { Variables } from './read/expand.ts';
import { fastLayer } from './read/fast-layer.ts';
import type { Layer, LayerOptions } from './read/layer.ts';
import { strictBy } from './read/strict-by-error.ts';
import { defaultSettings } from './schema/default-settings.ts';
import type { CompiledPolicies, CompileOptions } from './sources/compile-policies.ts';
import type { Fetched } from './sources/connectors.ts';
import { isManaged } from './sources/find-managed.ts';
import type { Managed } from './sources/managed.ts';
import type { PluginReading } from './sources/plugins.ts';
import type { PolicyReading } from './sources/policy-files.ts';
import type { Remote } from './sources/remote-document.ts';
import { watchedFolders } from './sources/source-folders.ts';
import {
  openTrust,
  type Trust,
  untrustedBundle,
  untrustedConnector,
  withoutUntrusted,
  withoutUntrustedConnectors,
} from './sources/trust.ts';
import type { WorkflowReadings } from './sources/workflow-files.ts';
import type { LoadOptions, SourcesFound } from './sources-found.ts';

/** Reads each source on its own, fetches the servers of connectors, and merges everything into one configuration. */
export async function assembleConfig(found: SourcesFound, options: LoadOptions): Promise<Config> {
  const { projectFolder, home } = found;
  const { env, userHome, clock = Date.now, fetchTimeoutMs: timeoutMs, signal } = options;
  const variables = { env, workspaceFolder: projectFolder, userHome };
  const remote = { home, env, clock, ...(timeoutMs !== undefined && { timeoutMs }), ...(signal && { signal }) };
  const managed = await managedOf(found, variables, remote);
  // Managed files and plugins get none of the user's secrets. A connector gets those that its entry lists.
  const withSecrets = { ...variables, secrets: await secretsOf(found, options) };
  const book = await options.trust?.();
  const trust = openTrust(
    ({ thing, hash, everywhere }) => book?.trusts(everywhere ? home : projectFolder, thing, hash) ?? true,
  );
  const policyFiles = await policyFilesOf(found);
  const rules = policyFiles.map(({ layer }) => layer);
  const own = (await Promise.all(found.sources.map((source) => layersOf(source, withSecrets)))).flat();
  const trusted = (layer: Layer) => withoutUntrusted(layer, trust, projectFolder);
  const others = [...own, ...rules.filter((layer) => !isManagedLayer(layer))];
  const written = [...managed.layers, ...rules.filter(isManagedLayer), ...others.map(trusted)];
  const [plugins, connectors] = await Promise.all([
    pluginsOf(found, variables, trust),
    fetchConnectors(connectorLayers(written, managed), { remote, variables: withSecrets, trust }),
  ]);

  const layers = [
    ...written.map((layer) => withoutUntrustedConnectors(layer, trust)),
    ...plugins.flatMap(({ layer }) => layer ?? []),
    ...connectors.flatMap(({ layers: more }) => more),
  ];
  const policies = await policiesOf(layers, {
    remembered: options.lastPolicies,
    isExclusive: managed.exclusive !== undefined,
  });
  const workflows = await workflowsOf(found, written, trust);
  const pending = [managed, ...connectors].map(({ refreshed }) => refreshed);
  return mergeConfig({
    projectFolder,
    files: [
      ...found.files,
      ...policyFiles.map(({ source }) => source),
      ...workflows.files,
      ...plugins.map(({ file }) => file),
      ...connectors.flatMap(({ files }) => files),
    ],
    layers: [...policies.strict, ...layers],
    policies,
    workflows: workflows.workflows,
    watched: watchedFolders([...found.policies, ...found.workflows]),
    problems: [
      ...managed.problems,
      ...found.problems,
      ...plugins.flatMap(({ problem }) => problem ?? []),
      ...connectors.flatMap(({ problems }) => problems),
      ...policies.problems,
      ...workflows.problems,
    ],
    programmatic: options.programmatic ?? [],
    managed,
    trust,
    mergeSettings: await settingsMerger([...policies.strict, ...layers]),
    refreshed: Promise.all(pending).then((changes) => changes.includes(true)),
  });
}

// The functions below import a module only when it is needed: most machines have one or two files of servers.

async function managedOf({ managed }: SourcesFound, variables: Variables, remote: Remote): Promise<Managed> {
  if (!isManaged(managed)) return { layers: [], judges: [], problems: [], refreshed: Promise.resolve(false) };
  const { readManaged } = await import('./sources/managed.ts');
  return readManaged(managed, { variables, remote });
}

async function policyFilesOf({ policies }: SourcesFound): Promise<readonly PolicyReading[]> {
  if (policies.every(({ files }) => files.length === 0)) return [];
  const { readPolicyFolder } = await import('./sources/policy-files.ts');
  return (await Promise.all(policies.map(readPolicyFolder))).flat();
}

async function policiesOf(layers: readonly Layer[], options: CompileOptions): Promise<CompiledPolicies> {
  const hasRules = layers.some(
    ({ policies, settings }) => policies || settings.some(({ path }) => path.join('.') === 'approvals.rules'),
  );
  if (!hasRules && !options.remembered?.size) return { problems: [], strict: [] };
  return (await import('./sources/compile-policies.ts')).compilePolicies(layers, options);
}

async function workflowsOf(found: SourcesFound, layers: readonly Layer[], trust: Trust): Promise<WorkflowReadings> {
  const hasEntries = layers.some(({ settings }) => settings.some(({ path }) => path[0] === 'workflows'));
  if (!hasEntries && found.workflows.every(({ files }) => files.length === 0)) {
    return { workflows: [], files: [], problems: [] };
  }
  const { readWorkflows } = await import('./sources/workflow-files.ts');
  return readWorkflows({ folders: found.workflows, layers, trust, projectFolder: found.projectFolder });
}

const isManagedLayer = ({ scope }: Layer) => scope === 'enterprise';

const SECRET = /(?<!\$)\$\{secret:([^}]*)\}|"secret:([^"]*)"/g;

async function secretsOf(
  { sources }: SourcesFound,
  { secrets }: LoadOptions,
): Promise<NonNullable<Variables['secrets']>> {
  const names = sources.flatMap(({ reading }) => {
    const text = reading.state === 'found' ? JSON.stringify(reading.document.root) : '';
    return [...text.matchAll(SECRET)].map(([, expanded, listed = '']) => expanded ?? listed);
  });
  return names.length === 0 || secrets === undefined ? new Map() : secrets(names);
}

async function layersOf(
  { source, reading }: SourcesFound['sources'][number],
  variables: Variables,
): Promise<readonly Layer[]> {
  const { scope, foreign, folder, serversAt, needsTrust = false } = source;
  if (reading.state === 'broken' && !foreign) {
    const { settings } = strictBy([reading.problem]);
    return [{ scope, needsTrust, settings, servers: [], connectors: [], problems: [] }];
  }
  if (reading.state !== 'found') return [];
  const { document } = reading;
  const options: LayerOptions = { document, foreign, variables, folder, ...(serversAt && { serversAt }) };
  const layer = fastLayer(scope, options) ?? (await import('./read/layer.ts')).toLayer(scope, options);
  return [{ ...layer, needsTrust }];
}

async function pluginsOf(
  { plugins, home }: SourcesFound,
  variables: Variables,
  trust: Trust,
): Promise<readonly PluginReading[]> {
  if (plugins.length === 0) return [];
  const { readPlugins } = await import('./sources/plugins.ts');
  return readPlugins(plugins, { home, variables, trusts: (...bundle) => trust.isTrusted(untrustedBundle(...bundle)) });
}

interface FetchContext {
  readonly trust: Trust;
  readonly remote: Remote;
  readonly variables: Variables;
}

async function fetchConnectors(
  layers: readonly Layer[],
  { trust, remote, variables }: FetchContext,
): Promise<readonly Fetched[]> {
  const connectors = connectorsOf(layers);
  if (connectors.length === 0) return [];
  const { readConnectors } = await import('./sources/connectors.ts');
  const { workspaceFolder: folder } = variables;
  const trusts = ({ name, written, at }: (typeof connectors)[number]) =>
    trust.isTrusted(untrustedConnector(name, written, at));
  return readConnectors(connectors, { remote, variables, folder, trusts });
}

async function settingsMerger(layers: readonly Layer[]): Promise<MergeSettings> {
  const hasSettings = layers.some(({ settings, connectors }) => settings.length > 0 || connectors.length > 0);
  if (hasSettings) return (await import('./merge-settings.ts')).mergeSettings;
  return (_layers, projectFolder) => ({ inForce: defaultSettings(projectFolder), origins: new Map() });
}

/** Returns the layers whose connectors are fetched: only the organisation's, if it excludes other sources of servers. */
function connectorLayers(layers: readonly Layer[], { exclusive }: Managed): readonly Layer[] {
  return exclusive === undefined ? layers : layers.filter(isManagedLayer);
}
