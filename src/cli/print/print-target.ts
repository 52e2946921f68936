import colors from 'picocolors';
import type { Facts } from '../../core/call/facts.ts';
import type { Json, JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { cutAndEscapeBreaks, cutText } from '../../core/text/cut-text.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { following, indented, indentedJson, MAX_PRINTED_CHARS } from './escape-control.ts';
import { functionSignature } from './function-signature.ts';

/** Prints a tool, prompt or resource in full. Control characters from its server are escaped. */
export function printTarget(target: Target): void {
  const { publicName, kind, definition, facts, flags, invalid, digest, servers, uncheckedPatterns = [] } = target;
  const { description } = definition;
  const lines = [
    titled(target),
    '',
    ...(kind === 'tool' || kind === 'prompt' ? [shownSignature(target), ''] : []),
    ...(invalid === undefined ? [] : [row('invalid', invalid), '']),
    typeof description === 'string'
      ? indented(cutText(description, MAX_PRINTED_CHARS), process.stdout)
      : 'It has no description.',
    '',
    row(
      'category',
      [facts.category, ...(kind === 'tool' ? [`risk ${facts.riskLevel}`, ...traitsOf(facts)] : [])].join(', '),
    ),
    row(servers.length === 1 ? 'server' : 'servers', servers.join(', ')),
    row('version', digest),
    ...flags.map((flag) => row('flag', flag)),
    ...uncheckedPatterns.map((pattern) => row('pattern', `not checked by Heddle: ${pattern}`)),
    ...KIND_LINES[kind](definition),
  ];
  process.stdout.write(`${colors.bold(oneLine(publicName))}\n${lines.join('\n')}\n`);
}

const shownSignature = (target: Target) =>
  following('', functionSignature(target, target.shownAs ?? target.name), process.stdout);
const shown = (text: string) => cutAndEscapeBreaks(text, MAX_PRINTED_CHARS);
const row = (title: string, text: string) => following(title.padEnd(9), shown(text), process.stdout);
const json = (title: string, value: Json) => ['', `${title.padEnd(9)}${indentedJson(value, process.stdout)}`];

function titled({ kind, servers, name, definition }: Target): string {
  const { annotations } = definition;
  const title = definition.title ?? (isObject(annotations) ? annotations.title : undefined);
  const called =
    kind === 'tool' || kind === 'prompt' ? `${servers.join(', ')} calls it ${name}` : String(definition.name);
  return following(`a ${kind}: `, shown(`${called}${typeof title === 'string' ? ` (${title})` : ''}`), process.stdout);
}

type FormatLines = (definition: JsonObject) => readonly string[];

const resourceLines: FormatLines = ({ mimeType, size }) => [
  ...(typeof mimeType === 'string' ? [row('type', mimeType)] : []),
  ...(typeof size === 'number' ? [row('size', `${size} bytes`)] : []),
];

/** The lines that only one kind of target has. */
const KIND_LINES: Readonly<Record<Target['kind'], FormatLines>> = {
  extension: () => [],
  tool: ({ inputSchema = { type: 'object' }, outputSchema }) => [
    ...json('input', inputSchema),
    ...(outputSchema === undefined ? [] : json('output', outputSchema)),
  ],
  prompt: ({ arguments: list }) => {
    const takes = (Array.isArray(list) ? list : []).filter(isObject);
    return takes.length === 0 ? [] : ['', 'arguments', ...takes.map(argumentLine)];
  },
  resource: resourceLines,
  template: resourceLines,
};

function argumentLine({ name, description, required }: JsonObject): string {
  const about = [...(required === true ? ['required'] : []), ...(typeof description === 'string' ? [description] : [])];
  return following('  ', shown(`${name}${about.length > 0 ? `: ${about.join('; ')}` : ''}`), process.stdout);
}

function traitsOf(facts: Facts): readonly string[] {
  const traits = {
    'read-only': facts.readOnly,
    destructive: facts.destructive,
    idempotent: facts.idempotent,
    concurrent: facts.concurrent,
    'open world': facts.openWorld,
    'asks first': facts.requiresApproval && facts.approval !== 'always',
    'always asks': facts.approval === 'always',
  };
  return Object.entries(traits).flatMap(([trait, holds]) => (holds ? [trait] : []));
}
