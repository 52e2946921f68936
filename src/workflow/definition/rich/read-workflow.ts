import { isObject } from '../../../core/json.ts';
import {
  childOf,
  type OpenCompilation,
  type ReadWorkflow,
  type RootValue,
  type SourceValue,
  type StepDefaults,
} from '../compilation.ts';
import { declaredNames } from '../declared-names.ts';
import { mapping } from '../expressions/mapping.ts';
import { countField, described, jsonField, type SourceField, textField } from '../field.ts';
import { objectField } from '../object-field.ts';
import { durationField, MAX_DURATION_MS } from '../quantities.ts';
import { inputSchema } from '../schema-fields.ts';
import { stepList } from '../step-fields.ts';
import { MOST } from '../step-limits.ts';
import { onError, retry } from './common-fields.ts';
import { readStep } from './read-step.ts';

/** The longest time of a run that sets none. */
export const DEFAULT_WALL_MS = 3_600_000;
export const WORKFLOW_NAME = /^[A-Za-z][\w-]{0,63}$/;

const defaults = objectField(
  { timeout: durationField('`timeout` of tool and code steps.'), retry, onError },
  { required: [], of: '`defaults`', about: 'Values for steps that have none of their own.' },
);

const limits = objectField(
  {
    wall: durationField('Longest time of a run. Default: `1h`.', MAX_DURATION_MS),
    steps: countField(1, MOST.steps, 'Most steps.'),
    nesting: countField(1, MOST.nesting, 'Most levels of steps.'),
    branches: countField(1, MOST.branches, 'Most branches of one step.'),
  },
  { required: [], of: '`limits`', about: 'Limits of the workflow.' },
);

const version: SourceField<1> = {
  schema: { const: 1, description: 'Version of the format.' },
  read: () => 1,
};

const alreadyRead: SourceField<object> = { schema: defaults.schema, read: (at) => at };

/** The keys of a workflow. */
export const workflowFields = objectField(
  {
    $schema: textField({ about: 'JSON Schema for editors.' }),
    heddle: version,
    name: textField({
      pattern: WORKFLOW_NAME,
      is: 'a name of up to 64 letters, digits, `_` and `-`',
      about: 'Name of the workflow.',
    }),
    version: textField({ max: 64, about: 'Version, for people.' }),
    description: textField({ about: 'Description; models see it.' }),
    input: inputSchema('JSON Schema of the input.'),
    output: described(mapping, 'Output. Default: the result of the last step.'),
    var: jsonField('Constants: `$var.name`.'),
    defaults: alreadyRead,
    limits,
    steps: stepList,
  },
  { required: ['steps'], of: 'a workflow' },
);

/** Reads the defaults of a workflow, before its steps. */
function readDefaults(at: SourceValue): StepDefaults {
  const written = isObject(at.value) ? at.value.defaults : undefined;
  const found = written === undefined ? undefined : defaults.read(childOf(at, 'defaults', written));
  return {
    onError: found?.onError ?? 'stop',
    ...(found?.timeout !== undefined && { timeoutMs: found.timeout }),
    ...(found?.retry && { retry: found.retry }),
  };
}

/** Reads a workflow of the rich form. */
export function readRich(root: RootValue, open: OpenCompilation): ReadWorkflow | undefined {
  const how = { form: 'rich', names: declaredNames(root.value), readStep } as const;
  const first = open.compilation({ ...how, defaults: { onError: 'stop' } });
  const compilation = open.compilation({ ...how, defaults: readDefaults({ ...root, in: first }) });
  const found = workflowFields.read({ ...root, in: compilation });
  if (!found) return undefined;
  const { limits: { wall, ...set } = {}, var: constants, steps, version: label } = found;
  return {
    limits: set,
    workflow: {
      ...{ heddle: 1, form: 'rich', wallMs: wall ?? DEFAULT_WALL_MS, steps },
      ...(label !== undefined && { version: label }),
      ...(found.description !== undefined && { description: found.description }),
      ...(found.input && { input: found.input }),
      ...(found.output && { output: found.output }),
      ...(constants && { var: constants }),
    },
  };
}
