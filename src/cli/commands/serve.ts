import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { stateSecrets } from '../../gateway/continuations/state-secrets.ts';
import { readIntroduction } from '../../gateway/transports/introduction.ts';
import { serveStdio } from '../../gateway/transports/serve-stdio.ts';
import { CONFIG_OPTION, type Command, TRUST_OPTION } from '../command.ts';
import { chooseProfile, PROFILE_OPTION } from '../input/choose-profile.ts';
import { untilAbandoned, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printProblems } from '../print/print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

export const serve: Command = {
  summary: 'Serve one MCP client over stdin and stdout: what an editor or agent starts by itself.',
  usage: 'heddle serve --stdio [--profile PROFILE] [--config FILE]',
  examples: [
    'heddle serve --stdio',
    '{ "mcpServers": { "heddle": { "command": "heddle", "args": ["serve", "--stdio"] } } }',
  ],
  options: {
    stdio: { type: 'boolean', help: 'Use stdin and stdout' },
    profile: PROFILE_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
  },
  async run(input) {
    if (!input.flag('stdio')) {
      throw new HeddleError('USAGE_INVALID', '`heddle serve` needs a transport.', {
        fix: 'Run `heddle serve --stdio`, or `heddle up` for HTTP.',
      });
    }
    const { stdin, stdout } = process;
    const signal = AbortSignal.any([untilInterrupted(), untilAbandoned(stdin)]);
    const local = localCaller();
    // A configuration or profile that cannot be used fails here, before the wait for the client's first message.
    await withHeddle({ ...openOptions(input), autoConnect: false }, async (heddle) => chooseProfile(input, heddle));
    // Servers are opened with the capabilities of the one client there is, so that each needs one connection only.
    const client = await readIntroduction({ input: stdin, output: stdout }, signal);
    const user = { principal: local.id, ...client, hasOneConnection: true } as const;
    await withHeddle(
      { ...openOptions(input), user, watch: true, checkpoints: true, runs: true, onProblems: printProblems },
      async (heddle) => {
        const profile = chooseProfile(input, heddle);
        const caller = { ...local, via: 'gateway' as const, ...(profile !== undefined && { profile }) };
        const secrets = await stateSecrets(homeFolder(process.env));
        await serveStdio({ heddle, caller, input: stdin, output: stdout, stateSecrets: secrets }, signal);
      },
    );
    return 0;
  },
};
