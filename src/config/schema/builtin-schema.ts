import * as z from 'zod';
import { database } from './database-schema.ts';
import { SETTING_DEFAULTS } from './defaults.ts';

const FILES = SETTING_DEFAULTS.builtins.filesystem;

const filesystem = z.strictObject({
  enabled: z.boolean().default(FILES.enabled).describe('False removes the built-in file tools.'),
  allowedPaths: z
    .array(z.string().min(1))
    .exactOptional()
    .describe('Folders that the file tools may use. The project folder, if absent.'),
  maxFileBytes: z.int().positive().default(FILES.maxFileBytes).describe('Largest file that is read or written.'),
  readOnly: z.boolean().default(FILES.readOnly).describe('True removes the tool that writes files.'),
  clientRoots: z
    .boolean()
    .default(FILES.clientRoots)
    .describe('True limits each client that has MCP roots to the folders inside both its roots and `allowedPaths`.'),
});

/** The settings of the built-in servers, by name. */
export const builtins = z
  .strictObject({
    filesystem: filesystem.prefault({}).describe('The built-in file tools.'),
    database: database
      .prefault({})
      .describe('The built-in database tools. They exist when a connection is configured.'),
  })
  .prefault({})
  .describe('Servers that come with Heddle.');
