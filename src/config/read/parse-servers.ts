import * as z from 'zod';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { ServerConfig } from '../config.ts';
import { findNameProblem } from '../schema/server-name.ts';
import { serverEntry } from '../schema/server-schema.ts';

/** Parses the servers of a program or a command line. Throws CONFIG_INVALID for an invalid entry. */
export function parseServers(
  scope: 'sdk' | 'dynamic' | 'command',
  entries: Readonly<Record<string, JsonObject>>,
): readonly ServerConfig[] {
  return Object.entries(entries).map(([name, written]) => {
    // An embedding program may use any name, reserved ones too.
    const badName = scope === 'sdk' ? undefined : findNameProblem(name);
    if (badName !== undefined) {
      throw new HeddleError('CONFIG_INVALID', badName, { fix: 'Give the server another name.' });
    }
    const read = serverEntry.safeParse(written);
    if (read.success) return { name, scope, entry: read.data, written, shadowed: [] };
    throw new HeddleError('CONFIG_INVALID', `The server ${name} cannot be used: ${z.prettifyError(read.error)}`);
  });
}
