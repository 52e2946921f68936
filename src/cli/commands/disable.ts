import type { Command } from '../command.ts';
import { SWITCH_OPTIONS, switchServer } from '../switch-server.ts';

export const disable: Command = {
  summary: 'Keep a server from starting, and its entry as it is.',
  usage: 'heddle disable NAME [--scope SCOPE]',
  examples: ['heddle disable github', 'heddle disable github --dry-run'],
  words: 1,
  options: SWITCH_OPTIONS,
  run: (input) => switchServer(input, false),
};
