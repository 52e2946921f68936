import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { Config, Problem } from '../../config/config.ts';
import { expandText } from '../../config/read/expand.ts';
import { type ReadConfigOptions, readConfig } from '../../config/read-config.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Input } from '../command.ts';
import { notice } from '../print/print-line.ts';

type DatabaseSettings = Config['settings']['builtins']['database'];

const SCHEME = /^(postgres(?:ql)?|mysql|mariadb|sqlite):/i;
const LITERAL_PASSWORD = /:\/\/[^/?#:@]*:(?!\$\{)[^@]+@/;

/** Reads the connections of `heddle builtin database`. Throws CONFIG_INVALID with file and line for an invalid one. */
export async function readConnections(input: Input): Promise<Omit<DatabaseSettings, 'enabled'>> {
  const written = input.texts('connection');
  const file = input.text('config');
  if (written.length > 0 === (file !== undefined)) {
    throw new HeddleError(
      'USAGE_INVALID',
      '`heddle builtin database` needs `--connection` or `--config`, and not both.',
      {
        fix: 'Run `heddle builtin database --connection name=url`, once for each database.',
      },
    );
  }
  const connections = written.map(toConnection);
  const options: ReadConfigOptions =
    file === undefined ? { config: { builtins: { database: { connections } } } } : { configFile: file };
  const { settings, problems } = await readConfig(options);
  const wrong = problems.find(({ level, server }) => level === 'error' && server === undefined);
  if (wrong) throw invalid(wrong, file);
  const { enabled, ...database } = settings.builtins.database;
  if (!enabled || database.connections.length === 0) {
    throw new HeddleError('CONFIG_INVALID', `${file ?? 'The configuration'} has no database connection in use.`, {
      fix: 'Add one to `builtins.database.connections`.',
    });
  }
  // Nothing can be written, so no writable connection is opened.
  return { ...database, connections: database.connections.map((one) => ({ ...one, access: 'read', allowDdl: false })) };
}

function toConnection(written: string): JsonObject {
  const [, name, url = ''] = /^([^=]*)=(.*)$/s.exec(written) ?? [];
  const variables = { env: process.env, workspaceFolder: process.cwd(), userHome: homedir() };
  const { text } = expandText(url, variables);
  const scheme = SCHEME.exec(text)?.[1]?.toLowerCase();
  if (name === undefined || scheme === undefined) {
    // The text may have a password.
    throw new HeddleError(
      'USAGE_INVALID',
      `The value of \`--connection\`${name ? ` for ${name}` : ''} is no database.`,
      {
        fix: 'Write `name=postgres://…`, `name=mysql://…` or `name=sqlite:FILE`.',
      },
    );
  }
  if (LITERAL_PASSWORD.test(url)) {
    notice(`The password of ${name} is in the command line, which other users of this machine can read.`);
    notice('Write `${VARIABLE}` in its place, within single quotes, or use `--config FILE`.');
  }
  if (scheme !== 'sqlite') return { name, type: scheme.startsWith('postgres') ? 'postgres' : 'mysql', url };
  const path = resolve(text.slice('sqlite:'.length).replace(/^\/\//, ''));
  return { name, type: 'sqlite', database: path.replaceAll('${', '$${') };
}

function invalid({ code, message, fix, at }: Problem, file: string | undefined): HeddleError {
  const place = at && file !== undefined ? `${at.file}:${at.line}:${at.column}: ` : '';
  return new HeddleError(code === 'VARIABLE_UNSET' ? code : 'CONFIG_INVALID', `${place}${message}`, { fix });
}
