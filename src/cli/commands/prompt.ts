import type { Call, Caller, JsonObject, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Command, Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { bindArguments } from '../input/bind-arguments.ts';
import { readArguments, type TypedArguments, unbound } from '../input/read-arguments.ts';
import { type NamedWords, splitName, wholeName } from '../input/target-name.ts';
import { localCaller } from '../local-caller.ts';
import { callName, functionSignature } from '../print/function-signature.ts';
import { printJson } from '../print/print-json.ts';
import { printMessages } from '../print/print-messages.ts';
import { ARGS_OPTION, RUN_OPTIONS, runAtTerminal, runOptions, terminalCall } from '../terminal-call.ts';
import { withRunningHeddle } from '../with-heddle.ts';
import { listCatalogEntries } from './list-catalog.ts';

export const prompt: Command = {
  summary: 'Get a prompt and print its messages.',
  usage: 'heddle prompt <server.prompt> [key=text | key=@file …]',
  notes: [
    'The arguments of a prompt are texts. key=@file is the text of a file, key=@- stdin, and key=@@x the text @x.',
  ],
  examples: [
    'heddle prompt everything.simple-prompt',
    'heddle prompt reviewer review code=@main.ts language=TypeScript',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: { args: ARGS_OPTION, ...RUN_OPTIONS },
  async run(input) {
    const named = splitName(input.positionals);
    if (named === undefined) {
      throw new HeddleError('USAGE_INVALID', 'No prompt was given.', { fix: 'Run `heddle list prompts` to see them.' });
    }
    const typed = await readArguments(named.words, input.text('args'));
    const caller = localCaller();
    const { value } = await withRunningHeddle(input, runOptions(input), (heddle) =>
      getPrompt(heddle, typed, { named, caller, input }),
    );
    if (input.flag('json')) printJson(value);
    else printMessages(value);
    return 0;
  },
};

interface Site {
  readonly named: NamedWords;
  readonly caller: Caller;
  readonly input: Input;
}

async function getPrompt(heddle: CommandHeddle, typed: TypedArguments, { named, caller, input }: Site) {
  const name = await wholeName(heddle, caller, named);
  const call = terminalCall({ kind: 'prompt', name, input: {} }, { caller, input });
  const target = await findPrompt(heddle, call);
  const bound = { ...call, input: target ? bindTexts(typed, name, target) : unbound(typed) };
  return runAtTerminal(heddle, bound, input).catch(async (thrown) => {
    const { explained, withRuleLocation } = await import('./explain-call-error.ts');
    const error = await explained(HeddleError.from(thrown), bound, { heddle });
    throw withRuleLocation(error, heddle.configuration(caller));
  });
}

/** Finds the prompt; undefined if there is none. A tool of the same name hides it from `describe`. */
async function findPrompt(heddle: CommandHeddle, { caller, name, signal }: Call): Promise<Target | undefined> {
  const found = await heddle.catalog.describe(caller, name, signal).catch(() => undefined);
  if (found?.kind !== 'tool') return found?.kind === 'prompt' ? found : undefined;
  const prompts = await listCatalogEntries(heddle, caller, { kind: 'prompt', waitMs: 0 });
  return prompts.find((one) => one.publicName === name || callName(one) === name);
}

/** Checks the arguments against those that the prompt declares. Throws INPUT_INVALID. */
function bindTexts(typed: TypedArguments, name: string, target: Target): JsonObject {
  const { arguments: list } = target.definition;
  const declared = (Array.isArray(list) ? list : []).filter(isObject);
  const names = declared.map((one) => String(one.name));
  const required = declared.filter((one) => one.required === true).map((one) => String(one.name));
  const inputSchema = {
    properties: Object.fromEntries(names.map((one) => [one, { type: 'string' }])),
    required,
    additionalProperties: false,
  };
  const input = bindArguments(typed, {
    name,
    inputSchema,
    signature: functionSignature(target, target.shownAs ?? target.name),
  });
  const [wrong] = Object.keys(input).filter((key) => typeof input[key] !== 'string');
  if (wrong !== undefined) {
    const got = JSON.stringify(input[wrong]);
    throw new HeddleError('INPUT_INVALID', `${wrong} wants text, got ${got}.`, { fix: `Write ${wrong}=text.` });
  }
  const missing = required.filter((key) => input[key] === undefined);
  if (missing.length === 0) return input;
  throw new HeddleError('INPUT_INVALID', `${name} needs ${missing.join(' and ')}.`, {
    fix: `Add ${missing.map((key) => `${key}=…`).join(' ')}.`,
  });
}
