import { isObject } from '../../../core/json.ts';
import { namesIn } from '../../expressions/evaluate-mapping.ts';
import type { Branch, Mapping, PipelinePart, Step } from '../canonical.ts';
import { childOf, type SourceValue } from '../compilation.ts';
import {
  choiceField,
  countField,
  listField,
  namedField,
  refuse,
  type SourceField,
  type SourceFields,
  textField,
  type WithRequired,
} from '../field.ts';
import { objectField, toCamelCase } from '../object-field.ts';
import { MAX_DURATION_MS } from '../quantities.ts';
import { toolName } from '../rich/common-fields.ts';
import { DEFAULT_CONCURRENCY, MAX_CONCURRENCY, MAX_ITERATIONS } from '../rich/control-fields.ts';
import { lastPart, type StepKind } from '../rich/step-kinds.ts';
import { MAX_BRANCHES, readSteps } from '../step-fields.ts';
import { classicCondition, classicMapping, classicOutput, splitExpression } from './classic-mapping.ts';

/** The keys of every classic step. */
const baseFields = {
  id: textField({ pattern: /^[\w-]{1,64}$/, is: 'an id of up to 64 letters, digits, `_` and `-`' }),
  type: textField({ max: 20, is: 'the type of a step' }),
  description: textField({ min: 0 }),
  outputMapping: classicOutput,
  timeout: countField(1, MAX_DURATION_MS, 'Time of the step in milliseconds.'),
};

export type ClassicBase = WithRequired<typeof baseFields, never>;

const reference = (name: string): Mapping => ({ ref: { name, parts: [], text: `$${name}` } });

/** A step or a list of steps. Those without an id are named after the step around them. */
const steps: SourceField<readonly Step[]> = namedField('classicSteps', (at) =>
  readSteps(at, (index) => `${ownId(at)}-${index + 1}`),
);

const ownId = ({ step = '' }: SourceValue): string => step.split('/').at(-1) ?? '';

function stepType<F extends SourceFields, R extends keyof F & string>(
  fields: F,
  options: { readonly type: string; readonly required: readonly R[] },
  toStep: (values: WithRequired<F, R>, at: SourceValue) => Partial<Step> | undefined,
): StepKind {
  const { type, required } = options;
  const own = { ...baseFields, type: choiceField([type], 'Type of the step.'), ...fields };
  const all = objectField(own, { required, of: `a ${type} step`, snakeCase: true });
  return { fields: all as SourceField<object>, toStep };
}

/** A failed call of a branch or an item fails the whole branch or fan-out, to which `errorHandling` then applies. */
const ONE_FAILURE = { onError: 'stop' } as const;

const branch: SourceField<Branch> = {
  schema: {
    anyOf: [{ $ref: '#/$defs/classicStep' }, { type: 'array', items: { $ref: '#/$defs/classicStep' }, minItems: 1 }],
  },
  read(at) {
    const index = Number(at.path.at(-1)) + 1;
    const own = `${ownId(at)}-${index}`;
    const inside = { ...at, in: { ...at.in, defaults: ONE_FAILURE } };
    const found = readSteps(inside, isObject(at.value) ? () => own : (inner) => `${own}-${inner + 1}`);
    if (!found) return undefined;
    return at.in.from(at, { id: isObject(at.value) ? (found[0]?.id ?? own) : String(index), steps: found });
  },
};

const enrich = objectField(
  { toolName, inputMapping: classicMapping, as: textField({ max: 64, is: 'the name of a field' }) },
  { required: ['toolName'], of: '`enrich`', snakeCase: true },
);

const PART_KEYS = ['transform', 'filter', 'enrich', 'source', 'step', 'sink'];

const part: SourceField<PipelinePart> = {
  schema: {
    anyOf: [
      { $ref: '#/$defs/classicStep' },
      ...Object.entries({
        ...{ transform: classicMapping.schema, filter: classicCondition.schema, enrich: enrich.schema },
        ...Object.fromEntries(['source', 'step', 'sink'].map((key) => [key, { $ref: '#/$defs/classicStep' }])),
      }).map(([key, schema]) => ({
        ...{ type: 'object', properties: { [key]: schema }, required: [key], additionalProperties: false },
      })),
    ],
  },
  read(at) {
    const [key = '', second] = isObject(at.value) ? Object.keys(at.value) : [];
    const name = `${ownId(at)}-${Number(at.path.at(-1)) + 1}`;
    if (second !== undefined || !isObject(at.value) || !PART_KEYS.includes(key)) return stepPart(at, name);
    return operation(childOf(at, key, at.value[key] ?? null), key, name);
  },
};

function operation(at: SourceValue, key: string, name: string): PipelinePart | undefined {
  if (key === 'transform') {
    const transform = classicMapping.read(at);
    return transform && { transform, each: namesIn(transform).has('item') };
  }
  if (key === 'filter') {
    const filter = classicCondition.read(at);
    return filter && { filter };
  }
  if (key !== 'enrich') return stepPart(at, name);
  const found = enrich.read(at);
  const input = found?.inputMapping ?? { value: {} };
  return found && { enrich: { tool: found.toolName, input, as: found.as ?? lastPart(found.toolName) } };
}

function stepPart(at: SourceValue, name: string): PipelinePart | undefined {
  const step = at.in.readStep(at, name);
  return step && { step };
}

const MODES = { all: 'all', first: 'first', majority: 'most' } as const;

/** The classic step types. */
export const CLASSIC_TYPES = {
  sequential: stepType(
    { toolName, inputMapping: classicMapping },
    { type: 'sequential', required: ['toolName'] },
    ({ toolName: tool, inputMapping: input = { value: {} } }) => ({ kind: 'tool', tool, input }),
  ),
  parallel: stepType(
    {
      branches: listField(branch, { min: 1, max: MAX_BRANCHES }),
      mergeStrategy: choiceField(['first', 'all', 'majority'], 'Branches that decide. Default: all.'),
    },
    { type: 'parallel', required: ['branches'] },
    ({ branches, mergeStrategy = 'all' }) => ({
      kind: 'parallel',
      branches,
      mode: MODES[mergeStrategy],
      shape: 'list',
    }),
  ),
  conditional: stepType(
    { condition: classicCondition, ifTrue: steps, ifFalse: steps },
    { type: 'conditional', required: ['condition', 'ifTrue'] },
    ({ condition: when, ifTrue, ifFalse }) => ({
      ...{ kind: 'switch', cases: [{ when, steps: ifTrue }] },
      ...(ifFalse && { else: ifFalse }),
    }),
  ),
  fanout: stepType(
    {
      toolName,
      splitExpression,
      inputMapping: classicMapping,
      maxConcurrency: countField(1, MAX_CONCURRENCY, 'Calls at the same time. Default: 5.'),
      mergeTool: toolName,
    },
    { type: 'fanout', required: ['toolName', 'splitExpression'] },
    ({ toolName: tool, splitExpression: items, inputMapping, maxConcurrency, mergeTool }, at) => ({
      ...{
        kind: 'fanout',
        items,
        as: 'item',
        shape: 'contents',
        maxConcurrency: maxConcurrency ?? DEFAULT_CONCURRENCY,
      },
      steps: [itemCall(at, tool, inputMapping)],
      ...(mergeTool !== undefined && {
        merge: { tool: mergeTool, input: { object: { results: reference('items') } } },
      }),
    }),
  ),
  loop: stepType(
    { condition: classicCondition, maxIterations: countField(1, MAX_ITERATIONS, 'Most iterations.'), body: steps },
    { type: 'loop', required: ['condition', 'maxIterations', 'body'] },
    ({ condition: test, maxIterations, body }) => ({
      ...{ kind: 'loop', test: { while: test }, maxIterations, atMax: 'end', steps: body, shape: 'list' },
    }),
  ),
  pipeline: stepType(
    { steps: listField(part, { min: 1, max: 2000 }) },
    { type: 'pipeline', required: ['steps'] },
    ({ steps: parts }) => ({ kind: 'pipeline', parts }),
  ),
} as const satisfies Record<string, StepKind>;

/** The call for one item of a fan-out, with `{item, index}`. */
function itemCall(at: SourceValue, tool: string, input?: Mapping): Step {
  const given = input ?? { object: { item: reference('item'), index: reference('index') } };
  return at.in.from(at, { id: `${ownId(at)}-call`, kind: 'tool', tool, input: given, ...ONE_FAILURE });
}

/** Finds the type of a step: by `type`, else by the keys that it has. */
export function typeOf(at: SourceValue): keyof typeof CLASSIC_TYPES | undefined {
  if (!isObject(at.value)) return refuse(at, 'a step: an object with `id`, `type` and `toolName`');
  const { type } = at.value;
  if (typeof type === 'string' && Object.hasOwn(CLASSIC_TYPES, type)) return type as keyof typeof CLASSIC_TYPES;
  if (type !== undefined) {
    return choiceField(Object.keys(CLASSIC_TYPES) as (keyof typeof CLASSIC_TYPES)[], '').read(
      childOf(at, 'type', type),
    );
  }
  const keys = new Set(Object.keys(at.value).map(toCamelCase));
  if (keys.has('splitExpression')) return 'fanout';
  if (keys.has('toolName')) return 'sequential';
  if (keys.has('branches')) return 'parallel';
  if (keys.has('body')) return 'loop';
  if (keys.has('condition')) return 'conditional';
  if (keys.has('steps')) return 'pipeline';
  return at.in.report(at, {
    code: 'STEP_KIND_UNKNOWN',
    message: 'The step has neither `type` nor a key that identifies it.',
    fix: `Add \`type\`: ${Object.keys(CLASSIC_TYPES).join(', ')}.`,
  });
}
