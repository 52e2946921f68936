import { join } from 'node:path';
import type { Problem, SourceFile } from '../config.ts';
import type { Document } from '../document.ts';
import { type Variables, withoutHeddleVariables } from '../read/expand.ts';
import { type Layer, toLayer } from '../read/layer.ts';
import { readConfigFile, sourceFile } from '../read/read-file.ts';
import { type Bundle, type BundleContent, openBundle } from './bundle.ts';
import type { PluginPath } from './sources.ts';

export interface PluginReading {
  readonly file: SourceFile;
  readonly layer?: Layer;
  readonly problem?: Problem;
}

export interface PluginOptions {
  readonly home: string;
  readonly variables: Variables;
  /** Tells whether the user trusts a bundle of the project, by its digest. */
  readonly trusts: (file: string, bundle: BundleContent) => boolean;
}

/** Reads the servers of plugins. An invalid plugin is a problem and does not affect the others. */
export async function readPlugins(
  paths: readonly PluginPath[],
  options: PluginOptions,
): Promise<readonly PluginReading[]> {
  const readings: PluginReading[] = [];
  // One after the other: the order of what is untrusted must not depend on the disk.
  for (const path of paths) {
    readings.push(await (path.kind === 'folder' ? readFolder(path, options) : readBundle(path, options)));
  }
  return readings;
}

async function readFolder({ path, needsTrust }: PluginPath, { variables }: PluginOptions): Promise<PluginReading> {
  const file = join(path, '.mcp.json');
  const reading = await readConfigFile(file);
  const source = sourceFile(file, 'plugin', reading);
  if (reading.state === 'broken') return { file: source, problem: reading.problem };
  if (reading.state === 'absent') return { file: source };
  const layer = layerOf({ document: reading.document, folder: path, settings: new Map() }, variables);
  return { file: source, layer: { ...layer, needsTrust } };
}

async function readBundle({ path, needsTrust }: PluginPath, options: PluginOptions): Promise<PluginReading> {
  const trusts = (content: BundleContent) => !needsTrust || options.trusts(path, content);
  const bundle = await openBundle(path, options.home, trusts);
  const source = { file: path, scope: 'plugin' as const };
  if (!('document' in bundle)) return { file: { ...source, state: 'broken' }, problem: bundle };
  return { file: { ...source, state: 'found' }, layer: layerOf(bundle, options.variables) };
}

interface PluginContent {
  readonly document: Document;
  readonly folder: string;
  readonly settings: Bundle['settings'];
}

function layerOf({ document, folder, settings }: PluginContent, variables: Variables): Layer {
  const own = { __dirname: folder, CLAUDE_PLUGIN_ROOT: folder, pathSeparator: '/' };
  const env = { ...withoutHeddleVariables(variables).env, ...settingsIn(settings, variables), ...own };
  return toLayer('plugin', { document, foreign: true, variables: { ...variables, env }, folder });
}

/** Returns the values of a bundle's own settings: those of the environment, else their defaults. */
function settingsIn(settings: Bundle['settings'], { env }: Variables): Variables['env'] {
  return Object.fromEntries([...settings].map(([name, value]) => [name, env[name] ?? value]));
}
