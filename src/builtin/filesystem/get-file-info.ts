import { constants, type Stats } from 'node:fs';
import { access } from 'node:fs/promises';
import type { JsonObject } from '../../core/call.ts';
import { readToolArguments } from '../read-arguments.ts';
import { type BuiltinTool, structured } from '../serve-tools.ts';
import { ToolFailure } from '../tool-failure.ts';
import { entryTypeOf, timeOf } from './entries.ts';
import { READS_FILES } from './facts.ts';
import { explainFileError } from './places/file-error.ts';
import { findPlace } from './places/find-place.ts';
import type { FilePlace } from './places/place.ts';
import type { Roots } from './places/roots.ts';

/** The tool `fs_get_file_info`. */
export function getFileInfoTool({ roots: all }: { readonly roots: Roots }): BuiltinTool {
  return {
    definition: definition(all),
    async run(input, signal, clientRoots) {
      const path = readToolArguments(input, ['path']).text('path');
      if (path === undefined) throw new ToolFailure('The argument "path" is missing. Name a file or directory.');
      const roots = await all.narrow(clientRoots);
      const place = await findPlace(roots, path, signal);
      try {
        return structured(await describePlace(place));
      } catch (thrown) {
        throw explainFileError(thrown, { path, roots: roots.shown });
      } finally {
        await place.close();
      }
    },
  };
}

async function describePlace({ real, stats, address }: FilePlace): Promise<JsonObject> {
  const may = (mode: number) => access(address, mode).then(always(true), always(false));
  const [readable, writable, executable] = await Promise.all([
    may(constants.R_OK),
    may(constants.W_OK),
    may(constants.X_OK),
  ]);
  return {
    path: real,
    type: entryTypeOf(stats),
    size: stats.size,
    created: createdAt(stats),
    modified: timeOf(stats.mtimeMs),
    accessed: timeOf(stats.atimeMs),
    permissions: { readable, writable, executable, mode: (stats.mode & 0o7777).toString(8).padStart(4, '0') },
  };
}

const always = (value: boolean) => () => value;

/** Returns the time of creation. Some file systems do not record it. */
const createdAt = ({ birthtimeMs }: Stats) => (birthtimeMs > 0 ? timeOf(birthtimeMs) : null);

const TIME = { type: ['string', 'null'], format: 'date-time' };

function definition(roots: Roots): BuiltinTool['definition'] {
  const flag = { type: 'boolean' };
  return {
    name: 'fs_get_file_info',
    title: 'Describe a file',
    description:
      'Returns type, size, times and permissions of a file or directory. Links inside the roots are followed.',
    inputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, description: `Absolute, or relative to the first of: ${roots.shown}.` },
      },
      required: ['path'],
      additionalProperties: false,
    },
    outputSchema: {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'The absolute path, without symbolic links.' },
        type: { type: 'string', enum: ['file', 'directory', 'symlink', 'other'] },
        size: { type: 'integer', minimum: 0, description: 'Bytes.' },
        created: { type: ['string', 'null'], format: 'date-time', description: 'Null where it is not recorded.' },
        modified: TIME,
        accessed: TIME,
        permissions: {
          type: 'object',
          description: 'What this server may do with it, and its mode in octal.',
          properties: { readable: flag, writable: flag, executable: flag, mode: { type: 'string' } },
          required: ['readable', 'writable', 'executable', 'mode'],
        },
      },
      required: ['path', 'type', 'size', 'created', 'modified', 'accessed', 'permissions'],
    },
    ...READS_FILES,
  };
}
