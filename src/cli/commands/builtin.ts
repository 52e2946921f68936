import { resolve } from 'node:path';
import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { serveInProcess } from '../../gateway/transports/serve-in-process.ts';
import type { Command, Input } from '../command.ts';
import { noticeUnread, untilAbandoned, untilInterrupted } from '../input/interrupt.ts';
import { notice } from '../print/print-line.ts';

export const builtin: Command = {
  summary: 'Serve a built-in server alone over stdin and stdout, without Heddle’s permissions and approvals.',
  usage: 'heddle builtin filesystem <dir>… [--read-only] | database --connection name=url … | database --config FILE',
  notes: [
    'Clients of Heddle have these servers already. Use this for a host without Heddle.',
    'The database server only reads: db_execute needs approvals, which only Heddle has.',
  ],
  examples: [
    'heddle builtin filesystem . --read-only',
    "heddle builtin database --connection 'shop=postgres://reader:${PASSWORD}@db.example.com/shop'",
    'heddle builtin database --connection notes=sqlite:notes.db',
    '{ "mcpServers": { "files": { "command": "heddle", "args": ["builtin", "filesystem", "/srv/docs"] } } }',
  ],
  options: {
    'read-only': { type: 'boolean', help: 'Leave out the tool that writes files' },
    connection: {
      type: 'string',
      multiple: true,
      value: 'NAME=URL',
      help: 'A database: postgres://…, mysql://… or sqlite:FILE. ${VARIABLE} in it is expanded. Repeatable',
    },
    config: { type: 'string', value: 'FILE', help: 'Take the connections of this configuration file' },
  },
  maxPositionals: Number.POSITIVE_INFINITY,
  hasNoCaller: true,
  async run(input) {
    const [name, ...rest] = input.positionals;
    if (name === 'filesystem') await serveFiles(input, rest);
    else if (name === 'database') await serveDatabases(input, rest);
    else throw unknownBuiltin(name);
    return 0;
  },
};

async function serveFiles(input: Input, folders: readonly string[]): Promise<void> {
  if (folders.length === 0) {
    throw new HeddleError('USAGE_INVALID', '`heddle builtin filesystem` needs a directory.', {
      fix: 'Name the directories it may use, such as `heddle builtin filesystem .`',
    });
  }
  const { serveFilesystem } = await import('../../builtin/filesystem/serve-filesystem.ts');
  const options = {
    roots: folders.map((folder) => resolve(folder)),
    maxFileBytes: SETTING_DEFAULTS.builtins.filesystem.maxFileBytes,
    hidden: [homeFolder(process.env)],
    readOnly: input.flag('read-only'),
    trouble: (error: Error) => notice(error.message),
  };
  await serveOnStdio((transport) => serveFilesystem(transport, options));
}

async function serveDatabases(input: Input, words: readonly string[]): Promise<void> {
  if (words.length > 0) {
    throw new HeddleError('USAGE_INVALID', `${words[0]} is one word too many.`, {
      fix: 'Name the databases with `--connection name=url` or `--config FILE`.',
    });
  }
  const { readConnections } = await import('../input/read-connections.ts');
  const { connections: list, ...limits } = await readConnections(input);
  const { openOwnConnections } = await import('../../builtin/database/open-database.ts');
  const { serveDatabase } = await import('../../builtin/database/serve-database.ts');
  const connections = openOwnConnections(list);
  const trouble = (error: Error) => notice(error.message);
  try {
    await serveOnStdio((transport) => serveDatabase(transport, { ...limits, connections, readOnly: true, trouble }));
  } finally {
    await connections.close();
  }
}

async function serveOnStdio(serve: Parameters<typeof serveInProcess>[0]): Promise<void> {
  const { stdin, stdout } = process;
  const signal = AbortSignal.any([untilInterrupted(), untilAbandoned(stdin)]);
  await serveInProcess(serve, { input: stdin, output: stdout, report: noticeUnread }, signal);
}

function unknownBuiltin(name: string | undefined): HeddleError {
  const message = name === undefined ? 'The built-in server is missing.' : `There is no built-in server ${name}.`;
  return new HeddleError('USAGE_INVALID', message, {
    fix: 'Run `heddle builtin filesystem <dir>` or `heddle builtin database --connection name=url`.',
  });
}
