import { HeddleError } from '../../core/errors.ts';
import { CONFIG_OPTION, type Command, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { untilInterrupted } from '../interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print-json.ts';
import { printFileProblems } from '../print-problems.ts';
import { printTarget } from '../print-target.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

export const describe: Command = {
  summary: 'Show a tool, prompt or resource in full: what it does, what it takes, what Heddle knows of it.',
  usage: 'heddle describe <server.tool | server.prompt | uri>',
  examples: ['heddle describe filesystem.fs_read_file'],
  words: 1,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const [name] = input.positionals;
    if (name === undefined) throw new HeddleError('USAGE_INVALID', 'Say what to describe.');
    const signal = untilInterrupted();
    const target = await withHeddle({ ...openOptions(input), onProblems: printFileProblems }, (heddle) =>
      heddle.catalog.describe(localCaller(), name, signal),
    );
    const { publicName, kind, servers, definition, facts, flags, invalid, digest } = target;
    if (input.flag('json')) printJson({ name: publicName, kind, servers, facts, flags, invalid, digest, definition });
    else printTarget(target);
    return 0;
  },
};
