import { basename, dirname, join, resolve } from 'node:path';
import type { Config, Problem, Scope } from './config.ts';
import { SETTING_DEFAULTS } from './defaults.ts';
import type { Layer } from './layer.ts';
import { findProjectFolder, real } from './project-folder.ts';
import { type Reading, readConfigFile } from './read-file.ts';

export interface LoadOptions {
  readonly cwd: string;
  /** The folder Heddle keeps for this user. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** When given, the only file that is read. */
  readonly file?: string;
}

interface Source {
  readonly file: string;
  readonly scope: Scope;
  /** Somebody asked for this very file, so its absence is a problem. */
  readonly asked: boolean;
  /** Folder that relative paths in it start from. */
  readonly folder: string;
}

// Shared with other programs: what we do not know there is theirs.
const FOREIGN = new Set(['.mcp.json', 'mcp.json']);

/** Reads every configuration file that counts here. What is broken is in `problems`; nothing is thrown. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const projectFolder = await findProjectFolder(options);
  const sources = await sourcesOf(options, projectFolder);
  const readings = await Promise.all(
    sources.map(async (source) => ({ source, reading: await readConfigFile(source.file) })),
  );
  const files = readings.map(({ source: { file, scope }, reading: { state } }) => ({ file, scope, state }));
  const problems = readings.flatMap(({ source, reading }) => problemsOf(source, reading));
  if (!readings.some(({ reading }) => reading.state === 'found')) return unwritten(projectFolder, files, problems);

  // Loaded only when there is something to check: where nothing is written, commands start faster.
  const [{ toLayer }, { mergeConfig }] = await Promise.all([import('./layer.ts'), import('./merge.ts')]);
  const variables = { env: options.env, workspaceFolder: projectFolder, userHome: options.userHome };
  const layers = readings.flatMap(({ source, reading }): Layer[] => {
    if (reading.state !== 'found') return [];
    const { file, scope, folder } = source;
    return [toLayer(scope, { document: reading.document, foreign: FOREIGN.has(basename(file)), variables, folder })];
  });
  return mergeConfig({ projectFolder, files, layers, problems });
}

function unwritten(projectFolder: string, files: Config['files'], problems: Config['problems']): Config {
  const { builtins, ...rest } = SETTING_DEFAULTS;
  const settings = { ...rest, builtins: { filesystem: { ...builtins.filesystem, allowedPaths: [projectFolder] } } };
  return { projectFolder, files, servers: new Map(), settings, places: new Map(), problems };
}

/** In order of precedence. */
async function sourcesOf({ cwd, home, file }: LoadOptions, projectFolder: string): Promise<readonly Source[]> {
  if (file !== undefined) {
    const path = resolve(cwd, file);
    return [{ file: path, scope: 'config', asked: true, folder: dirname(path) }];
  }
  const found = (path: string, scope: Scope): Source => ({ file: path, scope, asked: false, folder: projectFolder });
  const user = found(join(resolve(cwd, home), 'heddle.json'), 'user');
  // Standing in Heddle's own folder makes its file no project's.
  if ((await real(projectFolder)) === (await real(dirname(user.file)))) return [user];
  return [
    found(join(projectFolder, 'heddle.json'), 'project'),
    found(join(projectFolder, '.mcp.json'), 'project'),
    user,
  ];
}

function problemsOf({ file, asked }: Source, reading: Reading): readonly Problem[] {
  if (reading.state === 'broken') return [reading.problem];
  if (reading.state === 'found' || !asked) return [];
  const fix = 'Check the path given with `--config`.';
  return [{ level: 'error', code: 'CONFIG_INVALID', message: `${file} does not exist.`, fix }];
}
