import type { JsonObject } from '../../core/call.ts';
import { type Clock, steadyClock } from '../../core/time.ts';
import { readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { quote, ToolFailure } from '../tool-failure.ts';
import { READS_FILES } from './facts.ts';
import { parseGlob } from './glob-pattern.ts';
import { explainFileError } from './places/file-error.ts';
import { findPlace } from './places/find-place.ts';
import type { Roots } from './places/roots.ts';
import { type WalkLimits, walkFiles } from './walk-files.ts';

const LIMITS: WalkLimits = { maxHits: 100, maxEntries: 100_000, maxMs: 30_000 };
// Longer than the search itself, so that a slow search returns what it has found.
const TIMEOUT_MS = 40_000;

interface SearchOptions {
  readonly roots: Roots;
  readonly limits?: WalkLimits;
  readonly clock?: Clock;
}

/** The tool `fs_search_files`. */
export function searchFilesTool({ roots: all, limits = LIMITS, clock = steadyClock }: SearchOptions): BuiltinTool {
  return {
    definition: definition(all, limits),
    async run(input, signal, clientRoots) {
      const args = readToolArguments(input, ['pattern', 'rootPath']);
      const pattern = args.text('pattern');
      const rootPath = args.text('rootPath') ?? '.';
      if (pattern === undefined)
        throw new ToolFailure('The argument "pattern" is missing. Write a glob, such as "**/*.ts".');
      const glob = parseGlob(pattern);
      const matches = await matcherOf(glob.source);
      const roots = await all.narrow(clientRoots);
      const place = await findPlace(roots, rootPath, signal);
      try {
        if (!place.stats.isDirectory()) {
          throw new ToolFailure(`${quote(rootPath)} is not a directory. Name the directory to search in.`);
        }
        const { hides, hidesPlace } = roots;
        const { files, reason } = await walkFiles(place, {
          ...limits,
          glob,
          matches,
          hides,
          hidesPlace,
          clock,
          signal,
        });
        const truncated = reason !== undefined;
        return structured({ rootPath: place.real, files, truncated, ...(truncated && { reason }) });
      } catch (thrown) {
        throw explainFileError(thrown, { path: rootPath, roots: roots.shown });
      } finally {
        await place.close();
      }
    },
  };
}

/** Compiles a pattern. RE2 matches in linear time. It is loaded with the first search. */
async function matcherOf(source: string): Promise<(text: string) => boolean> {
  const { RE2JS } = await import('re2js');
  const pattern = RE2JS.compile(source);
  return (text) => pattern.matcher(text).matches();
}

function definition(roots: Roots, { maxHits }: WalkLimits): BuiltinTool['definition'] {
  const { _meta: meta, ...facts } = READS_FILES;
  const properties: JsonObject = {
    pattern: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      description:
        'Glob for the path below rootPath: * and ? within a name, ** for any directories, [a-z], {a,b}. ' +
        'Example: src/**/*.{ts,js}. Names that begin with a dot match only where the pattern has the dot.',
    },
    rootPath: {
      type: 'string',
      minLength: 1,
      default: '.',
      description: `Directory to search in. Absolute, or relative to the first of: ${roots.shown}.`,
    },
  };
  return {
    name: 'fs_search_files',
    title: 'Find files by name',
    description: `Finds files below a directory whose path matches a glob, sorted. Follows no symbolic link. Returns at most ${maxHits} and says when there may be more.`,
    inputSchema: { type: 'object', properties, required: ['pattern'], additionalProperties: false },
    outputSchema: {
      type: 'object',
      properties: {
        rootPath: { type: 'string', description: 'The absolute path of the searched directory.' },
        files: { type: 'array', items: { type: 'string' }, description: 'Absolute paths.' },
        truncated: { type: 'boolean', description: 'True when there may be more files.' },
        reason: { type: 'string', description: 'Why the search ended early, and how to see the rest.' },
      },
      required: ['rootPath', 'files', 'truncated'],
    },
    ...facts,
    _meta: { 'dev.heddle/tool': { ...meta['dev.heddle/tool'], timeout: TIMEOUT_MS } },
  };
}
