import { resolve } from 'node:path';
import type { JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import type { Config, Problem, ServerConfig } from './config.ts';
import { type ConfigSource, DEFAULT_SOURCES, fileSource } from './config-source.ts';
import { type FileReading, readConfigFile, readConfigText, sourceFile } from './read/read-file.ts';
import { strictBy } from './read/strict-by-error.ts';
import { defaultSettings } from './schema/default-settings.ts';
import { defaultSystemFolder, findManaged, isManaged, managedSources } from './sources/find-managed.ts';
import { findProjectFolder } from './sources/project-folder.ts';
import { findFolders, watchedFolders } from './sources/source-folders.ts';
import { explicitSource, findPlugins, type Source, standardSources } from './sources/sources.ts';
import type { LoadOptions, ReadSource, SourcesFound } from './sources-found.ts';

const VARIABLE = 'HEDDLE_MCP_SERVERS';
const OPTION = 'the `config` option';

/** Reads all sources that apply in a folder and merges them. Errors are listed in `problems`, not thrown. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const found = await find(options);
  const { managed, sources, plugins, policies, workflows } = found;
  const isConfigured =
    sources.some(({ reading }) => reading.state === 'found') ||
    plugins.length > 0 ||
    [...policies, ...workflows].some(({ files }) => files.length > 0);
  if (!isConfigured && !isManaged(managed)) return defaultConfig(found, options.programmatic ?? []);
  // Imported only if a source exists: without one, commands start faster.
  const { assembleConfig } = await import('./assemble.ts');
  return assembleConfig(found, options);
}

async function find(options: LoadOptions): Promise<SourcesFound> {
  const { cwd, env, file, config, systemFolder = defaultSystemFolder() } = options;
  const home = resolve(cwd, options.home);
  const projectFolder = await findProjectFolder(options);
  const { chosen = file === undefined ? DEFAULT_SOURCES : [fileSource(file)] } = options;
  const isStandard = config === undefined && chosen.some(({ kind }) => kind === 'standard');
  const [managed, sources, plugins, policies, workflows] = await Promise.all([
    findManaged(systemFolder, env.HEDDLE_MANAGED_DIR),
    config === undefined ? readChosen(chosen, options, projectFolder) : readObject(config, projectFolder),
    isStandard ? findPlugins(projectFolder, home) : [],
    isStandard ? findFolders('policies', projectFolder, home) : [],
    isStandard ? findFolders('workflows', projectFolder, home) : [],
  ]);
  const files = sources.map(({ source: { file: path, scope }, reading }) => sourceFile(path, scope, reading));
  const problems = sources.flatMap(({ source, reading }) => problemsOf(source, reading));
  return {
    ...{ projectFolder, home, managed, sources, plugins, problems },
    policies: [managed.policies, ...policies],
    workflows: [managed.workflows, ...workflows],
    files: [...managedSources(managed), ...files],
  };
}

async function readChosen(
  chosen: readonly ConfigSource[],
  options: LoadOptions,
  folder: string,
): Promise<readonly ReadSource[]> {
  const read = async (source: ConfigSource): Promise<readonly ReadSource[]> => {
    if (source.kind === 'config') return readAll([explicitSource(options.cwd, source.path)]);
    if (source.kind === 'standard') return readAll(await standardSources(options, folder));
    return source.kind === 'environment' ? readVariable(options, folder) : [];
  };
  return (await Promise.all(chosen.map(read))).flat();
}

function readVariable({ env }: LoadOptions, folder: string): readonly ReadSource[] {
  const text = env[VARIABLE];
  if (!text) return [];
  const source: Source = { file: VARIABLE, scope: 'environment', folder, foreign: true };
  return [{ source, reading: readConfigText(VARIABLE, text) }];
}

/** Reads a configuration that the program passed as an object. */
function readObject(config: JsonObject | false, folder: string): readonly ReadSource[] {
  if (config === false) return [];
  const source: Source = { file: OPTION, scope: 'config', folder, foreign: false };
  return [{ source, reading: readOption(config) }];
}

function readOption(config: JsonObject): FileReading {
  // JSON would turn a Map, a Promise or a class instance into another object, usually `{}`.
  if (!isPlainObject(config)) return brokenOption('is not a plain object');
  let text: string;
  try {
    text = String(JSON.stringify(config)); // A `toJSON` may return undefined.
  } catch (thrown) {
    return brokenOption(`cannot be written as JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
  return readConfigText(OPTION, text);
}

const brokenOption = (reason: string): FileReading => ({
  state: 'broken',
  problem: {
    level: 'error',
    code: 'CONFIG_INVALID',
    message: `The \`config\` option ${reason}.`,
    fix: 'Pass an object with the fields of heddle.json, or `false` for no configuration.',
  },
});

function isPlainObject(value: unknown): boolean {
  if (!isObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null; // Plain objects of other realms, too.
}

async function readAll(sources: readonly Source[]): Promise<readonly ReadSource[]> {
  return Promise.all(
    sources.map(async (source) => ({
      source,
      reading: await readConfigFile(source.file, { wanted: source.serversAt }),
    })),
  );
}

function defaultConfig(
  { projectFolder, files, problems, policies, workflows }: SourcesFound,
  programmatic: readonly ServerConfig[],
): Config {
  const settings = defaultSettings(projectFolder);
  const servers = new Map(programmatic.map((server) => [server.name, server]));
  const refreshed = Promise.resolve(false);
  return {
    projectFolder,
    files,
    servers,
    dropped: [],
    settings,
    origins: new Map(),
    problems,
    watched: watchedFolders([...policies, ...workflows]),
    refreshed,
    untrusted: [],
  };
}

function problemsOf({ file, explicit, serversAt, foreign }: Source, reading: FileReading): readonly Problem[] {
  // Settings of another program need not list servers, so their errors are only warnings.
  if (reading.state === 'broken') {
    if (serversAt) return [{ ...reading.problem, level: 'warn' }];
    return foreign ? [reading.problem] : strictBy([reading.problem]).problems;
  }
  if (reading.state === 'found' || !explicit) return [];
  const fix = 'Check the path given with `--config`.';
  return [{ level: 'error', code: 'CONFIG_INVALID', message: `${file} does not exist.`, fix }];
}
