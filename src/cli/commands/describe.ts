import colors from 'picocolors';
import type { Facts, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import { CONFIG_OPTION, type Command, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { inert } from '../inert.ts';
import { untilInterrupted } from '../interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print-json.ts';
import { printFileProblems } from '../print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

export const describe: Command = {
  summary: 'Show a tool in full: what it does, what it takes, what Heddle knows of it.',
  usage: 'heddle describe <server.tool>',
  examples: ['heddle describe filesystem.fs_read_file'],
  words: 1,
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const [name, ...more] = input.positionals;
    if (name === undefined || more.length > 0) throw new HeddleError('USAGE_INVALID', 'Say which tool to describe.');
    const signal = untilInterrupted();
    const target = await withHeddle({ ...openOptions(input), onProblems: printFileProblems }, (heddle) =>
      heddle.catalog.describe(localCaller(), name, signal),
    );
    const { publicName, servers, definition, facts, flags, invalid, digest } = target;
    if (input.flag('json')) printJson({ name: publicName, servers, facts, flags, invalid, digest, definition });
    else process.stdout.write(inText(target));
    return 0;
  },
};

function inText({ publicName, servers, name, definition, facts, flags, invalid, digest }: Target): string {
  const { annotations, description, inputSchema = { type: 'object' }, outputSchema } = definition;
  const title = definition.title ?? (isObject(annotations) ? annotations.title : undefined);
  const lines = [
    colors.bold(publicName),
    `${servers.join(', ')} calls it ${name}${typeof title === 'string' ? ` (${title})` : ''}`,
    '',
    ...(invalid === undefined ? [] : [`invalid  ${invalid}`, '']),
    typeof description === 'string' ? description : 'It has no description.',
    '',
    `category ${[facts.category, `risk ${facts.riskLevel}`, ...traitsOf(facts)].join(', ')}`,
    `digest   ${digest}`,
    ...flags.map((flag) => `flag     ${flag}`),
    '',
    `input    ${JSON.stringify(inputSchema, null, 2)}`,
    ...(outputSchema === undefined ? [] : ['', `output   ${JSON.stringify(outputSchema, null, 2)}`]),
  ];
  return `${lines.map((line, at) => (at === 0 ? line : inert(line))).join('\n')}\n`;
}

function traitsOf(facts: Facts): readonly string[] {
  const traits = {
    'read-only': facts.readOnly,
    destructive: facts.destructive,
    idempotent: facts.idempotent,
    concurrent: facts.concurrent,
    'open world': facts.openWorld,
  };
  return Object.entries(traits).flatMap(([trait, holds]) => (holds ? [trait] : []));
}
