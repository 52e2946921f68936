import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { stateSecrets } from '../../gateway/continuations/state-secrets.ts';
import { readIntroduction } from '../../gateway/transports/introduction.ts';
import { serveStdio } from '../../gateway/transports/serve-stdio.ts';
import type { Access } from '../../heddle.ts';
import { CONFIG_OPTION, type Command, TRUST_OPTION } from '../command.ts';
import { chooseProfile, PROFILE_OPTION } from '../input/choose-profile.ts';
import { noticeUnread, untilAbandoned, untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

export const serve: Command = {
  summary: 'Serve one MCP client over stdin and stdout: what an editor or agent starts by itself.',
  usage: 'heddle serve --stdio [--host-key FILE] [--profile PROFILE] [--config FILE]',
  examples: [
    'heddle serve --stdio',
    '{ "mcpServers": { "heddle": { "command": "heddle", "args": ["serve", "--stdio"] } } }',
  ],
  options: {
    stdio: { type: 'boolean', help: 'Use stdin and stdout' },
    'host-key': {
      type: 'string',
      value: 'FILE',
      help: 'The file of an API key with a person, who then approves in the host; `heddle connect` writes it',
    },
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
    const person = await withHeddle({ ...openOptions(input), autoConnect: false }, async (heddle) => {
      chooseProfile(input, heddle);
      return personOf(heddle.access, input.text('host-key'));
    });
    // Servers are opened with the capabilities of the one client there is, so that each needs one connection only.
    const client = await readIntroduction({ input: stdin, output: stdout }, signal);
    const user = { principal: local.id, ...client, hasOneConnection: true } as const;
    await withHeddle(
      { ...openOptions(input), user, watch: true, checkpoints: true, runs: true, onProblems: printProblems },
      async (heddle) => {
        const profile = chooseProfile(input, heddle);
        const limits = { ...(profile !== undefined && { profile }), ...(person !== undefined && { person }) };
        const caller = { ...local, via: 'gateway' as const, ...limits };
        const secrets = await stateSecrets(homeFolder(process.env));
        const streams = { input: stdin, output: stdout };
        await serveStdio({ heddle, caller, ...streams, stateSecrets: secrets, report: noticeUnread }, signal);
      },
    );
    return 0;
  },
};

/**
 * Returns the key of the host that started this command, if it has a person. The caller stays the user: the key proves
 * only that a person sees the forms of the host.
 */
async function personOf(access: Pick<Access, 'keyOf'>, file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const key = (await readFile(file, 'utf8').catch(() => '')).trim();
  const known = await access.keyOf(hash('sha256', key));
  if (known?.person) return `key:${known.name}`;
  notice(
    'The key of this host is revoked or has no person, so no form asks for approvals. Run `heddle connect` again.',
  );
  return undefined;
}
