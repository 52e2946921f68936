import { APPROVER_PATTERN } from '../../../core/call/caller.ts';
import type { ApprovalStep, CodeStep, WaitStep } from '../canonical.ts';
import { condition, expression, inputMapping, mapping, timeExpression } from '../expressions/mapping.ts';
import { choiceField, countField, described, listField, refuse, type SourceField, textField } from '../field.ts';
import { objectField } from '../object-field.ts';
import { durationField, sizeField } from '../quantities.ts';
import { formSchema } from '../schema-fields.ts';
import { stepId, toolName, toolUse } from './common-fields.ts';

export const MAX_CONCURRENCY = 100;
export const MAX_ITERATIONS = 1000;
export const DEFAULT_CONCURRENCY = 5;
const MAX_QUORUM = 20;
const MAX_CODE_CHARS = 100_000;
const CODE_WALL_MS = 20_000;
const MAX_CODE_WALL_MS = 600_000;
const CODE_MEMORY_BYTES = 64 * 1024 ** 2;
const MAX_CODE_MEMORY_BYTES = 512 * 1024 ** 2;
const CODE_CALLS = 25;
const MAX_CODE_CALLS = 1000;

const approvalFields = objectField(
  {
    title: described(mapping, 'Text that approvers see.'),
    show: described(mapping, 'Values that approvers see.'),
    schema: formSchema('JSON Schema of a form. Its content is part of the result.'),
    approvers: listField(
      textField({
        pattern: APPROVER_PATTERN,
        is: '`role:<role>`, `key:<name>`, `local:<user>`, `owner` or `<issuer>#<sub>`',
      }),
      { min: 1, max: 100 },
    ),
    quorum: countField(1, MAX_QUORUM, 'Approvals that are needed. Default: 1.'),
    expires: durationField('Time to decide.'),
    onExpire: choiceField(['reject', 'fail'], 'Effect of the end of `expires`. Default: fail.'),
  },
  { required: ['title'], of: '`approval`', about: 'Waits for the decision of a person.' },
);

export const approval: SourceField<ApprovalStep> = {
  schema: approvalFields.schema,
  read(at) {
    const found = approvalFields.read(at);
    if (!found) return undefined;
    const { title, show, schema, approvers, quorum = 1, expires: expiresMs, onExpire = 'fail' } = found;
    return {
      ...{ kind: 'approval', title, quorum, onExpire },
      ...(show && { show }),
      ...(schema && { schema }),
      ...(approvers && { approvers }),
      ...(expiresMs !== undefined && { expiresMs }),
    };
  },
};

const waitFields = objectField(
  { for: durationField('Time to wait.'), until: described(timeExpression, 'Time at which the run goes on.') },
  { required: [], of: '`wait`', about: 'Waits for a time. Give `for` or `until`.' },
);

export const wait: SourceField<WaitStep> = {
  schema: { ...waitFields.schema, minProperties: 1, maxProperties: 1 },
  read(at) {
    const found = waitFields.read(at);
    if (!found) return undefined;
    const isOne = Object.keys(found).length === 1;
    return isOne ? { kind: 'wait', ...found } : refuse(at, 'an object with one of `for` and `until`');
  },
};

const codeFields = objectField(
  {
    ts: textField({
      max: MAX_CODE_CHARS,
      is: 'the text of a function',
      about: 'Body of an async function in TypeScript.',
    }),
    js: textField({
      max: MAX_CODE_CHARS,
      is: 'the text of a function',
      about: 'Body of an async function in JavaScript.',
    }),
    tools: described(listField(toolName, { min: 0, max: 100 }), 'Tools that the code may call.'),
    input: described(inputMapping, 'Value of `input` in the code.'),
    limits: objectField(
      {
        wall: durationField('Time of the code. Default: `20s`.', MAX_CODE_WALL_MS),
        memory: sizeField('Memory of the code. Default: `64MiB`.', MAX_CODE_MEMORY_BYTES),
        calls: countField(0, MAX_CODE_CALLS, 'Calls of tools. Default: 25.'),
      },
      { required: [], of: '`limits` of code', about: 'Limits of the code.' },
    ),
  },
  { required: [], of: '`code`', about: 'Runs code in a sandbox.' },
);

export const code: SourceField<CodeStep> = {
  schema: { ...codeFields.schema, anyOf: [{ required: ['ts'] }, { required: ['js'] }] },
  read(at) {
    const found = codeFields.read(at);
    if (!found) return undefined;
    const { ts, js, tools = [], input, limits = {} } = found;
    const source = ts ?? js;
    if (source === undefined || (ts !== undefined && js !== undefined))
      return refuse(at, 'an object with one of `ts` and `js`');
    return {
      ...{ kind: 'code', source, tools },
      limits: {
        wallMs: limits.wall ?? CODE_WALL_MS,
        memoryBytes: limits.memory ?? CODE_MEMORY_BYTES,
        calls: limits.calls ?? CODE_CALLS,
      },
      ...(input && { input }),
    };
  },
};

/** The fields of `fanout` but its body. */
export const fanoutFields = {
  items: described(expression, 'List; the body runs once for each item.'),
  as: described(stepId, 'Name of the item in the body. Default: item.'),
  maxConcurrency: countField(1, MAX_CONCURRENCY, 'Items at the same time. Default: 5.'),
  tolerate: objectField(
    {
      count: countField(0, 10_000, 'Items that may fail.'),
      percent: countField(0, 100, 'Percentage of items that may fail.'),
    },
    { required: [], of: '`tolerate`', about: 'Failures that do not fail the step.' },
  ),
  merge: described(toolUse, 'Called once with the results in `$items`.'),
};

/** The fields of `loop` but its body. */
export const loopFields = {
  while: described(condition, 'Condition that is tested before the body.'),
  until: described(condition, 'Condition that is tested after the body.'),
  maxIterations: countField(1, MAX_ITERATIONS, 'Iterations after which the step fails.'),
  delay: durationField('Time between two iterations.'),
  carry: described(mapping, 'Value of `$loop.prev` in the next iteration.'),
};
