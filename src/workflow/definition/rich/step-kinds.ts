import type { JsonObject } from '../../../core/call.ts';
import { isObject } from '../../../core/json.ts';
import { namesIn } from '../../expressions/evaluate-mapping.ts';
import type { PipelinePart, Step, StepBase } from '../canonical.ts';
import { childOf, type SourceValue } from '../compilation.ts';
import { condition, expression, inputMapping, mapping, toMapping } from '../expressions/mapping.ts';
import {
  choiceField,
  described,
  flagField,
  listField,
  type SourceField,
  type SourceFields,
  textField,
  type WithRequired,
} from '../field.ts';
import { objectField } from '../object-field.ts';
import { branches, stepList } from '../step-fields.ts';
import { commonFields, idempotency, toolName } from './common-fields.ts';
import { approval, code, DEFAULT_CONCURRENCY, fanoutFields, loopFields, wait } from './control-fields.ts';

const WORKFLOW_NAME = /^[^@\s][^@]*$/;
const KIND_KEYS = [
  'tool',
  'sequential',
  'pipeline',
  'parallel',
  'switch',
  'fanout',
  'loop',
  'approval',
  'wait',
  'workflow',
  'code',
] as const;
const MAX_CASES = 100;

/** A kind of step: its keys, and the way in which its own part of the canonical step is made of them. */
export interface StepKind {
  readonly fields: SourceField<object>;
  toStep(values: never, at: SourceValue): object | undefined;
}

/** A step or a value that stands in for a failed step. */
const fallback: SourceField<NonNullable<StepBase['fallback']>> = {
  schema: {
    anyOf: [{ $ref: '#/$defs/unnamedStep' }, { $ref: '#/$defs/mapping' }],
    description: 'Step or value that replaces a failed step.',
  },
  read(at) {
    const isStep = isObject(at.value) && KIND_KEYS.some((key) => Object.hasOwn(at.value as JsonObject, key));
    if (isStep) return at.in.readStep(at, `${at.step?.split('/').at(-1)}-fallback`);
    const found = toMapping(at);
    return found && { mapping: found };
  },
};

type Common = typeof commonFields & { readonly fallback: typeof fallback };

function stepKind<F extends SourceFields, R extends keyof F & string>(
  name: R,
  fields: F,
  toStep: (values: WithRequired<F & Common, R>, at: SourceValue) => Partial<Step> | undefined,
): StepKind {
  const of = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name} step`;
  const type = choiceField([name], 'Kind of the step; not needed.');
  const all = { ...commonFields, fallback, type, ...fields };
  return { fields: objectField(all, { required: [name], of }) as SourceField<object>, toStep };
}

const when = objectField(
  // biome-ignore lint/suspicious/noThenProperty: the format has this key, and no value of it is awaited.
  { when: described(condition, 'Condition of the case.'), then: stepList },
  { required: ['when', 'then'], of: 'a case of `switch`' },
);

const fanout = objectField({ ...fanoutFields, do: stepList }, { required: ['items', 'do'], of: '`fanout`' });
const loop = objectField({ ...loopFields, do: stepList }, { required: ['maxIterations', 'do'], of: '`loop`' });
const enrich = objectField(
  { tool: toolName, input: inputMapping, as: textField({ max: 64, is: 'the name of a field' }) },
  { required: ['tool'], of: '`enrich`', about: 'Calls a tool for each item, and stores its result in the item.' },
);

/** A part of a pipeline: a step, or an operation on the previous result. */
const pipelinePart: SourceField<PipelinePart> = {
  schema: {
    anyOf: [
      { $ref: '#/$defs/step' },
      ...Object.entries({ transform: mapping.schema, filter: condition.schema, enrich: enrich.schema }).map(
        ([key, schema]) => ({
          ...{ type: 'object', properties: { [key]: schema }, required: [key], additionalProperties: false },
        }),
      ),
    ],
  },
  read(at) {
    const [key, second] = isObject(at.value) ? Object.keys(at.value) : [];
    if (second !== undefined || !isObject(at.value) || key === undefined) return stepPart(at);
    const inner = childOf(at, key, at.value[key] ?? null);
    if (key === 'transform') {
      const transform = toMapping(inner);
      return transform && { transform, each: namesIn(transform).has('item') };
    }
    if (key === 'filter') {
      const filter = condition.read(inner);
      return filter && { filter };
    }
    if (key !== 'enrich') return stepPart(at);
    const found = enrich.read(inner);
    return (
      found && {
        enrich: { tool: found.tool, input: found.input ?? { value: {} }, as: found.as ?? lastPart(found.tool) },
      }
    );
  },
};

function stepPart(at: SourceValue): PipelinePart | undefined {
  const step = at.in.readStep(at);
  return step && { step };
}

/** Returns the tool's own name of `server.tool` or `mcp__server__tool`. */
export const lastPart = (tool: string): string => tool.split(/\.|__/).at(-1) ?? tool;

const namedWorkflow = described(
  textField({ max: 128, pattern: WORKFLOW_NAME, is: 'the name of a workflow, without a version' }),
  'Name of a workflow.',
);

/** The kinds of steps by the key that identifies them. */
export const KINDS = {
  tool: stepKind(
    'tool',
    {
      tool: toolName,
      input: described(inputMapping, 'Arguments of the tool.'),
      idempotency,
      onInDoubt: choiceField(['retry', 'fail', 'ask'], 'Handling of a call that may have happened. Default: ask.'),
    },
    ({ tool, input = { value: {} }, idempotency: key, onInDoubt }) => ({
      ...{ kind: 'tool', tool, input },
      ...(key !== undefined && { idempotency: key }),
      ...(onInDoubt !== undefined && { onInDoubt }),
    }),
  ),
  sequential: stepKind('sequential', { sequential: stepList }, ({ sequential }) => ({
    kind: 'sequential',
    steps: sequential,
  })),
  pipeline: stepKind('pipeline', { pipeline: listField(pipelinePart, { min: 1, max: 2000 }) }, ({ pipeline }) => ({
    kind: 'pipeline',
    parts: pipeline,
  })),
  parallel: stepKind(
    'parallel',
    {
      parallel: branches,
      mode: choiceField(['all', 'first', 'majority'], 'Branches that decide. Default: all.'),
      by: described(expression, 'Value of `$branch` that `majority` compares.'),
      allowSideEffects: flagField('Permits `first` with tools that are not read-only.'),
    },
    ({ parallel, mode = 'all', by, allowSideEffects }, at) => {
      if (by && mode !== 'majority') {
        at.in.report(at, {
          code: 'VALUE_INVALID',
          message: '`by` needs `mode: majority`.',
          fix: 'Remove `by`, or set the mode.',
        });
      }
      return {
        ...{ kind: 'parallel', branches: parallel.branches, mode, shape: mode === 'first' ? 'winner' : 'keyed' },
        ...(by && { by }),
        ...(allowSideEffects !== undefined && { allowSideEffects }),
      };
    },
  ),
  switch: stepKind(
    'switch',
    { switch: listField(when, { min: 1, max: MAX_CASES }), else: stepList },
    ({ switch: cases, else: otherwise }) => ({
      kind: 'switch',
      cases: cases.map((one) => ({ when: one.when, steps: one.then })),
      ...(otherwise && { else: otherwise }),
    }),
  ),
  fanout: stepKind(
    'fanout',
    { fanout },
    ({ fanout: { items, as = 'item', do: steps, maxConcurrency, tolerate, merge } }) => ({
      ...{ kind: 'fanout', items, as, steps, maxConcurrency: maxConcurrency ?? DEFAULT_CONCURRENCY, shape: 'report' },
      ...(tolerate && { tolerate }),
      ...(merge && { merge }),
    }),
  ),
  loop: stepKind('loop', { loop }, ({ loop: { while: before, until, maxIterations, delay, do: steps, carry } }, at) => {
    if ((before === undefined) === (until === undefined)) {
      return at.in.report(at, {
        code: 'VALUE_INVALID',
        message: 'A loop has one of `while` and `until`.',
        fix: 'Give one of the two.',
      });
    }
    return {
      ...{ kind: 'loop', steps, maxIterations, atMax: 'fail', shape: 'last' },
      test: before ? { while: before } : { until },
      ...(delay !== undefined && { delayMs: delay }),
      ...(carry && { carry }),
    } as Partial<Step>;
  }),
  approval: stepKind('approval', { approval }, (values) => values.approval),
  wait: stepKind('wait', { wait }, (values) => values.wait),
  workflow: stepKind(
    'workflow',
    { workflow: namedWorkflow, input: described(inputMapping, 'Input of the workflow.') },
    ({ workflow, input = { value: {} } }) => ({
      ...{ kind: 'workflow', workflow, input },
    }),
  ),
  code: stepKind(
    'code',
    { code, input: described(inputMapping, 'Value of `input` in the code.') },
    ({ code: found, input }) => ({
      ...found,
      ...(input && { input }),
    }),
  ),
} as const satisfies Record<(typeof KIND_KEYS)[number], StepKind>;
