import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { Branch, Step } from './canonical.ts';
import { childOf, type SourceValue } from './compilation.ts';
import { namedField, refuse, type SourceField } from './field.ts';

export const MAX_BRANCHES = 100;

/** Reads a list of steps, or one step. Steps with problems are left out. `nameOf` names steps that have no id. */
export function readSteps(at: SourceValue, nameOf?: (index: number) => string): readonly Step[] | undefined {
  const { value } = at;
  const single = isObject(value) ? at.in.readStep(at, nameOf?.(0)) : undefined;
  if (isObject(value)) return single && [single];
  if (!Array.isArray(value) || value.length === 0) return refuse(at, 'a list of steps');
  return value.flatMap((item: Json, index) => at.in.readStep(childOf(at, index, item), nameOf?.(index)) ?? []);
}

export const stepList: SourceField<readonly Step[]> = namedField('steps', (at) => readSteps(at));

/** Reads branches: an object of steps or lists of steps by branch id, or a list of steps, whose ids are those of the branches. */
export const branches: SourceField<{ readonly branches: readonly Branch[]; readonly isList: boolean }> = {
  schema: {
    anyOf: [
      {
        type: 'object',
        additionalProperties: { $ref: '#/$defs/branch' },
        minProperties: 1,
        maxProperties: MAX_BRANCHES,
      },
      { type: 'array', items: { $ref: '#/$defs/step' }, minItems: 1, maxItems: MAX_BRANCHES },
    ],
    description: 'Branches that run at the same time.',
  },
  read(at) {
    const { value } = at;
    const size = Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
    if (size < 1 || size > MAX_BRANCHES) return refuse(at, `a list or an object of 1 to ${MAX_BRANCHES} branches`);
    return Array.isArray(value)
      ? { branches: value.flatMap((item: Json, index) => listedBranch(childOf(at, index, item))), isList: true }
      : {
          branches: Object.entries(value as object).flatMap(([id, item]) => keyedBranch(childOf(at, id, item), id)),
          isList: false,
        };
  },
};

function listedBranch(at: SourceValue): readonly Branch[] {
  const step = at.in.readStep(at);
  return step ? [at.in.from(at, { id: step.id, steps: [step] })] : [];
}

function keyedBranch(at: SourceValue, id: string): readonly Branch[] {
  if (!/^[A-Za-z_][\w-]{0,63}$/.test(id)) {
    return refuse({ ...at, value: id }, 'a name of letters, digits, `_` and `-` for a branch') ?? [];
  }
  const inBranch = { ...at, step: [at.step, ...(isObject(at.value) ? [] : [id])].filter(Boolean).join('/') };
  const steps = isObject(at.value) ? readSteps(at, () => id) : readSteps(inBranch);
  return steps ? [at.in.from(at, { id, steps })] : [];
}
