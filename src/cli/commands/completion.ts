import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Command } from '../command.ts';
import { COMPLETION_SCRIPTS, SHELLS } from './completion-scripts.ts';

export const completion: Command = {
  summary: 'Print a script that completes commands, options, servers, tools and arguments in a shell.',
  usage: 'heddle completion bash|zsh|fish',
  notes: ['Names come from what Heddle has seen of the servers: completing starts none.'],
  examples: [
    `echo 'source <(heddle completion bash)' >> ~/.bashrc`,
    `echo 'source <(heddle completion zsh)' >> ~/.zshrc`,
    'heddle completion fish > ~/.config/fish/completions/heddle.fish',
  ],
  maxPositionals: 1,
  options: {},
  hasNoCaller: true,
  async run({ positionals: [word = ''] }) {
    const shell = SHELLS.find((name) => name === word);
    if (shell === undefined) {
      const guess = closest(word, SHELLS);
      throw new HeddleError('USAGE_INVALID', word === '' ? 'No shell was given.' : `There is no script for ${word}.`, {
        fix: guess === undefined ? `Use one of ${SHELLS.join(', ')}.` : `Did you mean ${guess}?`,
      });
    }
    process.stdout.write(COMPLETION_SCRIPTS[shell]);
    return 0;
  },
};
