import type { Mapping, Retry, ToolUse } from '../canonical.ts';
import { condition, inputMapping, isConstant, mapping, toMapping } from '../expressions/mapping.ts';
import {
  choiceField,
  countField,
  described,
  flagField,
  listField,
  namedField,
  refuse,
  type SourceField,
  textField,
} from '../field.ts';
import { objectField, recordField } from '../object-field.ts';
import { durationField } from '../quantities.ts';

export const STEP_ID = /^[A-Za-z_][\w-]{0,63}$/;
const MAX_FIELDS = 200;
const MAX_RETRIES = 100;
const RETRY_INITIAL_MS = 500;
const RETRY_CAP_MS = 30_000;

export const stepId = textField({
  pattern: STEP_ID,
  is: 'an id of up to 64 letters, digits, `_` and `-` that begins with a letter',
});
export const toolName = textField({
  max: 256,
  is: 'the name of a tool',
  about: 'Public name, `server.tool` or bare name of a tool.',
});

const retryFields = objectField(
  {
    max: countField(0, MAX_RETRIES, 'Attempts after the first.'),
    backoff: choiceField(['exponential', 'fixed'], 'Growth of the waits. Default: exponential.'),
    initial: durationField('First wait. Default: `500ms`.'),
    cap: durationField('Longest wait. Default: `30s`.'),
    jitter: flagField('Spreads the waits at random. Default: true.'),
    on: listField(textField({ max: 64, is: 'an error code' }), { min: 1, max: 50 }),
  },
  { required: ['max'], of: '`retry`', about: 'Repeats calls that are safe to repeat.', example: '{max: 3}' },
);

export const retry: SourceField<Retry> = namedField('retry', (at) => {
  const found = retryFields.read(at);
  return (
    found && {
      max: found.max,
      backoff: found.backoff ?? 'exponential',
      initialMs: found.initial ?? RETRY_INITIAL_MS,
      capMs: found.cap ?? Math.max(RETRY_CAP_MS, found.initial ?? 0),
      jitter: found.jitter ?? true,
      ...(found.on && { on: found.on }),
    }
  );
});

export const onError = choiceField(['stop', 'skip', 'fallback'], 'Effect of a failure on the run. Default: stop.');

const toolUseFields = objectField(
  { tool: toolName, input: inputMapping },
  { required: ['tool'], of: 'a call of a tool', about: 'A call of a tool.' },
);

export const toolUse: SourceField<ToolUse> = namedField('toolUse', (at) => {
  const found = toolUseFields.read(at);
  return found && at.in.from(at, { tool: found.tool, input: found.input ?? { value: {} } });
});

/** The schemas of fields that many steps have. */
export const SHARED_SCHEMAS = { retry: retryFields.schema, toolUse: toolUseFields.schema };

/** The fields of every step but its fallback, which is a step again. */
export const commonFields = {
  id: described(stepId, 'Name of the step; `$id.result` is its result.'),
  description: textField({ about: 'Purpose of the step.' }),
  if: described(condition, 'Condition of the step; it is skipped if this is false.'),
  timeout: durationField('Time of one attempt.'),
  totalTimeout: durationField('Time of all attempts and the waits between them.'),
  retry,
  onError,
  output: described(
    recordField(mapping, { max: MAX_FIELDS, of: 'names and mappings' }),
    'Named fields beside `result`.',
  ),
  compensate: described(toolUse, 'Undoes the step if a later one stops the run.'),
};

/** `auto`, `none`, or a mapping that gives the key. A constant key would make the calls of all runs one call. */
export const idempotency: SourceField<'auto' | 'none' | Mapping> = {
  schema: { type: 'string', description: '`auto`, `none`, or a reference or expression that gives the key.' },
  read(at) {
    if (at.value === 'auto' || at.value === 'none') return at.value;
    const key = typeof at.value === 'string' ? toMapping(at) : undefined;
    if (typeof at.value === 'string' && !key) return undefined;
    return key && !isConstant(key) ? key : refuse(at, '`auto`, `none`, a reference or an expression');
  },
};
