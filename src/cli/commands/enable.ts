import type { Command } from '../command.ts';
import { SWITCH_OPTIONS, switchServer } from '../switch-server.ts';

export const enable: Command = {
  summary: 'Let a server start again.',
  usage: 'heddle enable NAME [--scope SCOPE]',
  examples: ['heddle enable github'],
  words: 1,
  options: SWITCH_OPTIONS,
  run: (input) => switchServer(input, true),
};
