import { editTargets } from '../../config/edit/edit-scopes.ts';
import { type ApplicationName, HOST_NAMES } from '../../config/hosts/hosts.ts';
import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { type Command, JSON_OPTION } from '../command.ts';
import { connectHost } from '../connect/connect-host.ts';
import { hostTarget } from '../connect/host-file.ts';
import { showHosts } from '../connect/show-hosts.ts';
import { undoConnect } from '../connect/undo-connect.ts';
import { DRY_RUN_OPTION } from '../edit/change-file.ts';
import { CHECK_OPTIONS } from '../edit/check-added.ts';
import { placesOf } from '../edit/edit-scope.ts';
import { PLAIN_OPTION } from '../edit/move-secrets.ts';
import { readHost } from '../input/choose-host.ts';

export const connect: Command = {
  summary: 'Show the hosts on this machine, or give one of them this gateway in place of its servers.',
  usage: 'heddle connect [host] [--url] [--undo]',
  examples: [
    'heddle connect',
    'heddle connect cursor',
    'heddle connect codex --url --yes',
    'heddle connect cursor --undo',
  ],
  maxPositionals: 1,
  options: {
    url: { type: 'boolean', help: 'Write the URL of the gateway and an API key, instead of `heddle serve --stdio`' },
    'no-import': { type: 'boolean', help: 'Do not import the host’s servers into Heddle' },
    'keep-servers': { type: 'boolean', help: 'Leave the host’s servers enabled there' },
    plain: PLAIN_OPTION,
    yes: { type: 'boolean', help: 'Do it without asking: import, disable, write; allow no tools' },
    ...CHECK_OPTIONS,
    undo: { type: 'boolean', help: 'Put the host’s file back as it was' },
    'dry-run': DRY_RUN_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [word] = input.positionals;
    const config = await readConfig();
    if (word === undefined) {
      const option = ['url', 'undo', 'yes'].find((name) => input.flag(name));
      if (option === undefined) return showHosts(config, input);
      throw new HeddleError('USAGE_INVALID', `--${option} needs a host.`, {
        fix: 'Run `heddle connect` to see the hosts that are here.',
      });
    }
    const where = await hostTarget(readApplication(word), config.projectFolder);
    if (input.flag('undo')) return undoConnect(where, input);
    const home = homeFolder(process.env);
    const userFile = (await editTargets(placesOf(config))).find(({ scope }) => scope === 'user')?.file ?? home;
    return connectHost(where, { config, home, userFile, input });
  },
};

function readApplication(word: string): ApplicationName {
  const applications = HOST_NAMES.filter((name) => name !== 'registry');
  const host = readHost(word, applications);
  if (host !== 'registry') return host;
  throw new HeddleError('USAGE_INVALID', 'The registry is no application that could be connected.', {
    fix: `Use one of ${applications.join(', ')}.`,
  });
}
