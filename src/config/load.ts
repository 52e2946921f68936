import { resolve } from 'node:path';
import type { Config, Problem, ServerConfig } from './config.ts';
import { type FileReading, readConfigFile, readConfigText, sourceFile } from './read/read-file.ts';
import { defaultSettings } from './schema/default-settings.ts';
import { defaultSystemFolder, findManaged, isManaged, managedSources } from './sources/find-managed.ts';
import { findProjectFolder } from './sources/project-folder.ts';
import { askedSource, findPlugins, type Source, standardSources } from './sources/sources.ts';
import type { LoadOptions, ReadSource, SourcesFound } from './sources-found.ts';

const VARIABLE = 'HEDDLE_MCP_SERVERS';

/** Reads everything that counts here. What is broken is in `problems`; nothing is thrown. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const found = await find(options);
  const { managed, sources, plugins } = found;
  const something = sources.some(({ reading }) => reading.state === 'found') || plugins.length > 0;
  if (!something && !isManaged(managed)) return unwritten(found, options.programmatic ?? []);
  // Loaded only when there is something to check: where nothing is written, commands start faster.
  const { assembleConfig } = await import('./assemble.ts');
  return assembleConfig(found, options);
}

async function find(options: LoadOptions): Promise<SourcesFound> {
  const { cwd, env, file, systemFolder = defaultSystemFolder() } = options;
  const home = resolve(cwd, options.home);
  const projectFolder = await findProjectFolder(options);
  const [managed, sources, plugins] = await Promise.all([
    findManaged(systemFolder, env.HEDDLE_MANAGED_DIR),
    file === undefined ? readStandard(options, projectFolder) : readAll([askedSource(cwd, file)]),
    file === undefined ? findPlugins(projectFolder, home) : [],
  ]);
  const files = sources.map(({ source: { file: path, scope }, reading }) => sourceFile(path, scope, reading));
  const problems = sources.flatMap(({ source, reading }) => problemsOf(source, reading));
  return { projectFolder, home, managed, sources, plugins, files: [...managedSources(managed), ...files], problems };
}

async function readStandard(options: LoadOptions, folder: string): Promise<readonly ReadSource[]> {
  const files = await readAll(await standardSources(options, folder));
  const text = options.env[VARIABLE];
  if (!text) return files;
  const source: Source = { file: VARIABLE, scope: 'environment', folder, foreign: true };
  return [{ source, reading: readConfigText(VARIABLE, text) }, ...files];
}

async function readAll(sources: readonly Source[]): Promise<readonly ReadSource[]> {
  return Promise.all(
    sources.map(async (source) => ({ source, reading: await readConfigFile(source.file, source.serversAt) })),
  );
}

function unwritten({ projectFolder, files, problems }: SourcesFound, programmatic: readonly ServerConfig[]): Config {
  const settings = defaultSettings(projectFolder);
  const servers = new Map(programmatic.map((server) => [server.name, server]));
  const refreshed = Promise.resolve(false);
  return {
    projectFolder,
    files,
    servers,
    dropped: [],
    settings,
    places: new Map(),
    problems,
    refreshed,
    untrusted: [],
  };
}

function problemsOf({ file, asked, serversAt }: Source, reading: FileReading): readonly Problem[] {
  // In another program's settings there may be nothing of interest at all.
  if (reading.state === 'broken') return [serversAt ? { ...reading.problem, level: 'warn' } : reading.problem];
  if (reading.state === 'found' || !asked) return [];
  const fix = 'Check the path given with `--config`.';
  return [{ level: 'error', code: 'CONFIG_INVALID', message: `${file} does not exist.`, fix }];
}
