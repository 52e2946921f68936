import { HeddleError } from '../../core/errors.ts';
import type { Command } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import { printContents } from '../print/print-contents.ts';
import { printJson } from '../print/print-json.ts';
import { RUN_OPTIONS, runAtTerminal, runOptions, terminalCall } from '../terminal-call.ts';
import { withRunningHeddle } from '../with-heddle.ts';

export const read: Command = {
  summary: 'Read a resource and print its contents.',
  usage: 'heddle read <uri> [--output FILE]',
  notes: [
    'A URI may be one that `heddle list resources` shows, one that a template of `heddle list templates` describes,',
    'or heddle://<server>/<uri> for the resource of one server. A pipe gets the bytes unchanged.',
  ],
  examples: [
    'heddle read file:///notes/today.md',
    'heddle read https://example.com/logo.png --output logo.png',
    'heddle read demo://resource/static/document/features.md --json',
  ],
  maxPositionals: 1,
  options: {
    output: { type: 'string', value: 'FILE', help: 'Write the contents to this file; - is stdout' },
    ...RUN_OPTIONS,
  },
  async run(input) {
    const [uri] = input.positionals;
    const output = input.text('output');
    if (uri === undefined) {
      throw new HeddleError('USAGE_INVALID', 'No resource to read was given.', {
        fix: 'Run `heddle list resources` to see them.',
      });
    }
    if (output !== undefined && input.flag('json')) {
      throw new HeddleError('USAGE_INVALID', '--output and --json exclude each other.', {
        fix: 'Leave one of them out.',
      });
    }
    const caller = localCaller();
    const { value } = await withRunningHeddle(input, runOptions(input), (heddle) => {
      const call = terminalCall({ kind: 'resource', name: uri, input: {} }, { caller, input });
      return runAtTerminal(heddle, call, input).catch(async (thrown) => {
        const { withRuleLocation } = await import('./explain-call-error.ts');
        const { withNearestUris } = await import('./nearest-uris.ts');
        const error = await withNearestUris(HeddleError.from(thrown), call, heddle);
        throw withRuleLocation(error, heddle.configuration(caller));
      });
    });
    if (input.flag('json')) printJson(value);
    else await printContents(value, output);
    return 0;
  },
};
