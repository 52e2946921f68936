import type { JsonObject } from '../../core/call.ts';
import { readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { quote, ToolFailure } from '../tool-failure.ts';
import { listEntries } from './entries.ts';
import { READS_FILES } from './facts.ts';
import { explainFileError } from './places/file-error.ts';
import { findPlace } from './places/find-place.ts';
import type { Roots } from './places/roots.ts';

const DEEPEST = 20;
const MAX_ENTRIES = 5000;

interface Limits {
  readonly roots: Roots;
  readonly maxEntries?: number;
}

/** The tool `fs_list_directory`. */
export function listDirectoryTool({ roots: all, maxEntries = MAX_ENTRIES }: Limits): BuiltinTool {
  return {
    definition: definition(all, maxEntries),
    async run(input, signal, clientRoots) {
      const args = readToolArguments(input, ['path', 'recursive', 'maxDepth']);
      const path = args.text('path') ?? '.';
      const recursive = args.flag('recursive') ?? false;
      const maxDepth = args.integer('maxDepth', { min: 1, max: DEEPEST }) ?? 3;

      const roots = await all.narrow(clientRoots);
      const place = await findPlace(roots, path, signal);
      try {
        if (!place.stats.isDirectory()) {
          throw new ToolFailure(`${quote(path)} is not a directory. Use fs_read_file for files.`);
        }
        const { entries, truncated } = await listEntries(place, {
          hides: roots.hides,
          hidesPlace: roots.hidesPlace,
          depth: recursive ? maxDepth : 1,
          maxEntries,
          signal,
        });
        const listing = { path, entries, truncated };
        const cut = `The list is cut: it shows ${maxEntries} entries at most. List a deeper directory to see the rest.`;
        return structured(listing, ...(truncated ? [cut] : []));
      } catch (thrown) {
        throw explainFileError(thrown, { path, roots: roots.shown });
      } finally {
        await place.close();
      }
    },
  };
}

const ENTRIES = { type: 'array', items: { $ref: '#/$defs/entry' } };
const ENTRY: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    type: { type: 'string', enum: ['file', 'directory', 'symlink', 'other'] },
    size: { type: 'integer', minimum: 0, description: 'Bytes. For a directory or link, the size of the entry itself.' },
    modified: { type: ['string', 'null'], format: 'date-time', description: 'Null if it is no valid date.' },
    children: { ...ENTRIES, description: 'The entries of a directory that was listed too.' },
  },
  required: ['name', 'type', 'size', 'modified'],
};

function definition(roots: Roots, maxEntries: number): BuiltinTool['definition'] {
  const properties: JsonObject = {
    path: {
      type: 'string',
      minLength: 1,
      default: '.',
      description: `Absolute, or relative to the first of: ${roots.shown}.`,
    },
    recursive: {
      type: 'boolean',
      default: false,
      description: 'List subdirectories too. Symbolic links are not followed.',
    },
    maxDepth: {
      type: 'integer',
      minimum: 1,
      maximum: DEEPEST,
      default: 3,
      description: 'With recursive: how many levels to show.',
    },
  };
  return {
    name: 'fs_list_directory',
    title: 'List a directory',
    description: `Lists what is in a directory, sorted by name: name, type, size and time of change. Shows at most ${maxEntries} entries and says when there are more.`,
    inputSchema: { type: 'object', properties, additionalProperties: false },
    outputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string' },
        entries: ENTRIES,
        truncated: { type: 'boolean', description: 'True when there are more entries than listed.' },
      },
      required: ['path', 'entries', 'truncated'],
      $defs: { entry: ENTRY },
    },
    ...READS_FILES,
  };
}
