import { basename, dirname, isAbsolute, relative, resolve } from 'node:path';
import type { JsonObject } from '../../core/call.ts';
import type { LoadedWorkflow, Problem, Scope, SourceFile, SourceLocation, Untrusted } from '../config.ts';
import type { Layer } from '../read/layer.ts';
import { readLimitedText } from '../read/read-file.ts';
import { loadDefinition } from './load-definition.ts';
import type { SourceFolder } from './source-folders.ts';
import type { Trust } from './trust.ts';
import { trustHash } from './trust-book.ts';

const MAX_FILES = 1000;
/** The longest text of a definition. */
const MAX_BYTES = 256 * 1024;
const ORDER: readonly Scope[] = ['enterprise', 'environment', 'config', 'local', 'project', 'user'];

/** The workflows of all sources, the files that were read, and their problems. */
export interface WorkflowReadings {
  readonly workflows: readonly LoadedWorkflow[];
  readonly files: readonly SourceFile[];
  readonly problems: readonly Problem[];
}

interface WorkflowSources {
  readonly folders: readonly SourceFolder[];
  /** The layers, highest precedence first, without untrusted settings. */
  readonly layers: readonly Layer[];
  readonly trust: Trust;
  readonly projectFolder: string;
}

/** A workflow that a source names, before its file is read. */
interface NamedWorkflow {
  readonly name: string;
  readonly scope: Scope;
  readonly at: SourceLocation;
  readonly needsTrust: boolean;
  readonly file?: string;
  readonly value?: JsonObject;
}

/** Reads the workflows of `heddle.json` and of the workflow folders. Those of a project count only if they are trusted. */
export async function readWorkflows(sources: WorkflowSources): Promise<WorkflowReadings> {
  const { folders, layers, projectFolder } = sources;
  const listed = folders.flatMap((folder) =>
    inFolder(folder).map((one) => ({ ...one, needsTrust: folder.needsTrust })),
  );
  const surplus = folders.flatMap(({ files }) => files.slice(MAX_FILES, MAX_FILES + 1).map(tooMany));
  const named = [...layers.flatMap((layer) => inLayer(layer, projectFolder)), ...listed].toSorted(
    (a, b) => ORDER.indexOf(a.scope) - ORDER.indexOf(b.scope),
  );
  const readings: WorkflowReading[] = [];
  // One after the other: the order of what is untrusted must not depend on the disk.
  for (const one of named) readings.push(await readOne(one, sources));
  const { workflows, problems } = withoutRepeated(readings.flatMap(({ workflow }) => workflow ?? []));
  return {
    workflows,
    files: readings.flatMap(({ file }) => file ?? []),
    problems: [...surplus, ...readings.flatMap(({ problem }) => problem ?? []), ...problems],
  };
}

function inFolder({ files, scope }: SourceFolder): readonly Omit<NamedWorkflow, 'needsTrust'>[] {
  return files
    .slice(0, MAX_FILES)
    .map((file) => ({ name: nameOf(file), scope, file, at: { file, line: 1, column: 1 } }));
}

const nameOf = (file: string): string => basename(file).replace(/\.\w+$/, '');

/** Lists the entries of `workflows` in one file. A path is relative to the file. */
function inLayer({ scope, settings, needsTrust = false }: Layer, projectFolder: string): readonly NamedWorkflow[] {
  const found = settings.filter(({ path }) => path[0] === 'workflows');
  return found.flatMap(({ value, at, locate }) =>
    Object.entries(value as JsonObject).map(([name, entry]): NamedWorkflow => {
      const place = locate?.([name])(0) ?? at;
      const folder = isAbsolute(at.file) ? dirname(at.file) : projectFolder;
      const content = typeof entry === 'string' ? { file: resolve(folder, entry) } : { value: entry as JsonObject };
      // The trust in the settings of the file covers a definition in it, not the content of another file.
      return { name, scope, at: place, needsTrust: needsTrust && typeof entry === 'string', ...content };
    }),
  );
}

interface WorkflowReading {
  readonly workflow?: LoadedWorkflow;
  readonly file?: SourceFile;
  readonly problem?: Problem;
}

async function readOne(one: NamedWorkflow, sources: WorkflowSources): Promise<WorkflowReading> {
  const { file, needsTrust, ...named } = one;
  if (file === undefined) return { workflow: named };
  const reading = await readLimitedText(file, MAX_BYTES);
  const { version } = reading;
  const source: SourceFile = { file, scope: one.scope, version, state: 'text' in reading ? 'found' : 'absent' };
  if ('reason' in reading) return { file: source, problem: unreadable(one, file, reading.reason) };
  const { text } = reading;
  const thing = needsTrust ? toThing(one, { file, text, projectFolder: sources.projectFolder }) : undefined;
  if (thing && !sources.trust.isTrusted(thing)) return { file: source, problem: untrusted(thing, file) };
  if (!file.endsWith('.ts')) return { file: source, workflow: { ...named, file, text } };
  const loaded = await loadDefinition(file, trustHash({ text }));
  return 'value' in loaded
    ? { file: source, workflow: { ...named, file, value: loaded.value } }
    : { file: source, problem: unreadable(one, file, loaded.reason) };
}

/** Shows the whole text: the user agrees only to what is shown. */
function toThing(
  { at }: NamedWorkflow,
  { file, text, projectFolder }: { readonly file: string; readonly text: string; readonly projectFolder: string },
): Untrusted {
  const isCode = file.endsWith('.ts');
  return {
    thing: `workflow ${relative(projectFolder, file)}`,
    would: isCode ? 'run its code and add its workflow as a tool' : 'add its workflow as a tool',
    also: text.split(/\r\n|\n|\r/),
    hash: trustHash({ text }),
    at,
  };
}

const untrusted = ({ thing, would, at }: Untrusted, workflow: string): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `The ${thing} came with this project and is untrusted: it would ${would}. It cannot be run.`,
  fix: 'Review it, then run `heddle trust` once (in CI: pass --trust-project).',
  workflow,
  ...(at && { at }),
});

const unreadable = ({ name, at }: NamedWorkflow, file: string, reason: string): Problem => ({
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `The workflow ${name} cannot be used: ${file} ${reason}.`,
  fix: 'Correct the file, or remove it.',
  at,
});

const tooMany = (file: string): Problem => ({
  level: 'error',
  code: 'CONFIG_INVALID',
  message: `${file} and the files after it are not read: a folder may have ${MAX_FILES} workflows.`,
  fix: 'Remove files.',
  at: { file, line: 1, column: 1 },
});

/** Keeps the first workflow of each name, which has the highest precedence. */
function withoutRepeated(all: readonly LoadedWorkflow[]): Pick<WorkflowReadings, 'workflows' | 'problems'> {
  const byName = new Map<string, LoadedWorkflow>();
  const problems: Problem[] = [];
  for (const one of all) {
    const first = byName.get(one.name);
    if (!first) byName.set(one.name, one);
    else if (first.file === undefined || first.file !== one.file) problems.push(repeated(one, first));
  }
  return { workflows: [...byName.values()], problems };
}

const repeated = ({ name, at }: LoadedWorkflow, { at: first }: LoadedWorkflow): Problem => ({
  level: 'warn',
  code: 'CONFIG_INVALID',
  message: `The workflow ${name} of ${at.file} is not used: ${first.file} has one of the same name and comes first.`,
  fix: 'Rename one of the two.',
  at,
});
