import { VERSION } from '../../core/version.ts';
import { type Command, JSON_OPTION } from '../command.ts';
import { printJson } from '../print/print-json.ts';

export const version: Command = {
  summary: 'Show the version of Heddle.',
  usage: 'heddle version [--json]',
  examples: ['heddle version', 'heddle version --json'],
  options: { json: JSON_OPTION },
  hasNoCaller: true,
  async run(input) {
    const { platform, arch, versions } = process;
    if (input.flag('json')) printJson({ version: VERSION, node: versions.node, platform, arch });
    else process.stdout.write(`${VERSION}\n`);
    return 0;
  },
};
