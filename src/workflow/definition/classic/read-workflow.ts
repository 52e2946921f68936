import type { Step } from '../canonical.ts';
import type { OpenCompilation, ReadWorkflow, RootValue, SourceValue } from '../compilation.ts';
import { declaredNames } from '../declared-names.ts';
import { choiceField, jsonField, namedField, type SourceField, textField } from '../field.ts';
import { objectField } from '../object-field.ts';
import { DEFAULT_WALL_MS } from '../rich/read-workflow.ts';
import { inputSchema } from '../schema-fields.ts';
import { readSteps } from '../step-fields.ts';
import { CLASSIC_TYPES, type ClassicBase, typeOf } from './step-types.ts';

const steps: SourceField<readonly Step[]> = namedField('classicSteps', (at) =>
  readSteps(at, (index) => `step${index + 1}`),
);
const errorHandling = choiceField(['stop', 'skip', 'fallback'], 'Effect of a failed step. Default: stop.');

/** The keys of a classic workflow. */
export const classicFields = objectField(
  {
    $schema: textField(),
    name: textField({ max: 128, pattern: /^[^\p{C}]+$/u, is: 'a name', about: 'Name of the workflow.' }),
    description: textField({ min: 0, about: 'Description; models see it.' }),
    version: textField({ max: 64 }),
    errorHandling,
    input: inputSchema('JSON Schema of the input.'),
    var: jsonField('Constants: `$var.name`.'),
    steps,
  },
  { required: ['steps'], of: 'a classic workflow', snakeCase: true },
);

/** Reads a workflow of the classic form. */
export function readClassic(root: RootValue, open: OpenCompilation): ReadWorkflow | undefined {
  const written = Object.entries(root.value as object).find(([key]) => /^error_?handling$/i.test(key))?.[1];
  const onError = written === 'skip' || written === 'fallback' ? written : 'stop';
  const how = { form: 'classic', names: declaredNames(root.value), readStep } as const;
  const found = classicFields.read({ ...root, in: open.compilation({ ...how, defaults: { onError } }) });
  if (!found) return undefined;
  return {
    limits: {},
    workflow: {
      ...{ heddle: 1, form: 'classic', wallMs: DEFAULT_WALL_MS, steps: found.steps },
      ...(found.version !== undefined && { version: found.version }),
      ...(found.description !== undefined && { description: found.description }),
      ...(found.input && { input: found.input }),
      ...(found.var && { var: found.var }),
    },
  };
}

/** Reads one classic step. Each follows the `errorHandling` of its workflow. */
function readStep(at: SourceValue, idFromParent?: string): Step | undefined {
  const type = typeOf(at);
  if (!type) return undefined;
  const written = (at.value as { readonly id?: unknown }).id;
  const id = typeof written === 'string' ? written : idFromParent;
  const inside = { ...at, step: [at.step, id ?? '?'].filter(Boolean).join('/') };
  const kind = CLASSIC_TYPES[type];
  const values = kind.fields.read(inside) as ClassicBase | undefined;
  const own = values && kind.toStep(values as never, inside);
  if (!values || !own || id === undefined) return undefined;
  return at.in.from(inside, {
    id,
    onError: at.in.defaults.onError,
    ...(values.description !== undefined && { description: values.description }),
    ...(values.timeout !== undefined && { timeoutMs: values.timeout }),
    ...(values.outputMapping && { output: values.outputMapping }),
    ...own,
  } as Step);
}
