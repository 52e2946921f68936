import { HeddleError } from '../../core/errors.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import {
  catalogOptions,
  FRESH_OPTION,
  findMissing,
  NO_WAIT_OPTION,
  printMissing,
  whileStarting,
} from '../print/missing-servers.ts';
import { printJson } from '../print/print-json.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { printTarget } from '../print/print-target.ts';
import { withRunningHeddle } from '../with-heddle.ts';
import { printServer, serverNamed } from './describe-server.ts';

export const describe: Command = {
  summary: 'Show a tool, prompt or resource in full, or a server with its tools.',
  usage: 'heddle describe <server.tool | server.prompt | uri | server> [--no-wait]',
  examples: ['heddle describe github.create_issue', 'heddle describe github'],
  maxPositionals: 1,
  options: {
    'no-wait': NO_WAIT_OPTION,
    fresh: FRESH_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  async run(input) {
    const [name] = input.positionals;
    if (name === undefined) throw new HeddleError('USAGE_INVALID', 'Nothing to describe was given.');
    const signal = untilInterrupted();
    const by = localCaller();
    const options = { ...catalogOptions(input), onProblems: printFileProblems };
    const target = await withRunningHeddle(input, options, async (heddle) => {
      const server = await serverNamed(heddle, by, name);
      if (server) return server;
      const known = await heddle.catalog.known(by, name);
      if (known) return known;
      return whileStarting(heddle, by, () => heddle.catalog.describe(by, name, signal)).catch(async (thrown) => {
        if (HeddleError.from(thrown).code === 'NAME_UNKNOWN') {
          const { deniedToOwner, withRuleLocation } = await import('./explain-call-error.ts');
          const denied = await deniedToOwner(heddle, by, name);
          if (denied) throw withRuleLocation(denied, heddle.configuration(by));
          const missing = await findMissing(heddle, by);
          // Without --no-wait a server that is still pending was not needed to look the name up.
          printMissing(missing.filter(({ state }) => state !== 'pending' || input.flag('no-wait')));
        }
        throw thrown;
      });
    });
    if ('status' in target) {
      printServer(target, input.flag('json'));
      return 0;
    }
    const { publicName, kind, servers, definition, facts, flags, invalid, uncheckedPatterns, digest } = target;
    const shown = { name: publicName, kind, servers, facts, flags, invalid, uncheckedPatterns, digest, definition };
    if (input.flag('json')) printJson(shown);
    else printTarget(target);
    return 0;
  },
};
