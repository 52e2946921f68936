import { resolve } from 'node:path';
import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { serveInProcess } from '../../gateway/transports/serve-in-process.ts';
import type { Command, Input } from '../command.ts';
import { untilAbandoned, untilInterrupted } from '../input/interrupt.ts';
import { notice } from '../print/print-line.ts';

export const builtin: Command = {
  summary: 'Serve a built-in server alone over stdin and stdout, without Heddle’s permissions and approvals.',
  usage: 'heddle builtin filesystem <dir>… [--read-only]',
  notes: ['Clients of Heddle have this server already. Use this for a host without Heddle.'],
  examples: [
    'heddle builtin filesystem . --read-only',
    '{ "mcpServers": { "files": { "command": "npx", "args": ["heddle", "builtin", "filesystem", "/srv/docs"] } } }',
  ],
  options: { 'read-only': { type: 'boolean', help: 'Leave out the tool that writes' } },
  maxPositionals: Number.POSITIVE_INFINITY,
  async run(input) {
    const [name, ...rest] = input.positionals;
    if (name !== 'filesystem') throw unknownBuiltin(name);
    await serveFiles(input, rest);
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
  const { stdin, stdout } = process;
  const signal = AbortSignal.any([untilInterrupted(), untilAbandoned(stdin)]);
  const streams = { input: stdin, output: stdout };
  await serveInProcess((transport) => serveFilesystem(transport, options), streams, signal);
}

function unknownBuiltin(name: string | undefined): HeddleError {
  const message = name === undefined ? 'The built-in server is missing.' : `There is no built-in server ${name}.`;
  return new HeddleError('USAGE_INVALID', message, { fix: 'Run `heddle builtin filesystem <dir>`.' });
}
