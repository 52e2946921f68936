import { isObject } from '../../../core/json.ts';
import { closest } from '../../../core/text/did-you-mean.ts';
import type { Step, StepBase } from '../canonical.ts';
import type { SourceValue } from '../compilation.ts';
import { defined } from '../defined.ts';
import { type FieldValues, refuse, shownValue } from '../field.ts';
import type { commonFields } from './common-fields.ts';
import { KINDS, type StepKind } from './step-kinds.ts';

type Kind = keyof typeof KINDS;
const KIND_NAMES = Object.keys(KINDS) as Kind[];

/** Reads one step. `idFromParent` names a step that has no id of its own. */
export function readStep(at: SourceValue, idFromParent?: string): Step | undefined {
  if (!isObject(at.value)) return refuse(at, 'a step: an object with `id` and a key such as `tool`');
  const kind = findKind(at);
  if (!kind) return undefined;
  const written = typeof at.value.id === 'string' ? at.value.id : idFromParent;
  const inside = { ...at, step: [at.step, written ?? '?'].filter(Boolean).join('/') };
  const found = readFields(inside, KINDS[kind]);
  if (!found) return undefined;
  const id = found.values.id ?? idFromParent;
  if (id === undefined) {
    if (at.value.id !== undefined) return undefined;
    const message = `A ${kind} step has no \`id\`.`;
    return at.in.report(at, {
      code: 'ID_MISSING',
      message,
      fix: 'Add `id`, by which later steps refer to its result.',
    });
  }
  const base = toBase(id, found.values, { at: inside, kind });
  return at.in.from(inside, { ...base, ...found.own } as Step);
}

/** Finds the one key that says what the step does. */
function findKind(at: SourceValue): Kind | undefined {
  const keys = Object.keys(at.value as object);
  const kinds = KIND_NAMES.filter((kind) => keys.includes(kind));
  const [kind, second] = kinds;
  if (kind !== undefined && second === undefined) return kind;
  const near = keys.map((key) => closest(key, KIND_NAMES)).find((name) => name !== undefined);
  return kind === undefined
    ? at.in.report(at, {
        code: 'STEP_KIND_UNKNOWN',
        message: `The step has no key that says what it does${keys.length > 0 ? `, only ${keys.slice(0, 10).map(shownValue).join(', ')}` : ''}.`,
        fix: near === undefined ? `Add one of ${KIND_NAMES.join(', ')}.` : `Did you mean \`${near}\`?`,
      })
    : at.in.report(at, {
        code: 'STEP_KIND_UNKNOWN',
        message: `The step is both \`${kind}\` and \`${second}\`.`,
        fix: 'Make two steps of it.',
      });
}

type CommonValues = FieldValues<typeof commonFields> & { readonly fallback?: StepBase['fallback'] };

function readFields(
  at: SourceValue,
  kind: StepKind,
): { readonly values: CommonValues; readonly own: object } | undefined {
  const values = kind.fields.read(at) as CommonValues | undefined;
  const own = values && kind.toStep(values as never, at);
  return values && own && { values, own };
}

/** Merges the defaults into a step. Those of `timeout` and `retry` are for steps that make calls themselves. */
function toBase(id: string, values: CommonValues, { at, kind }: { at: SourceValue; kind: Kind }): StepBase {
  const { defaults } = at.in;
  const isCall = kind === 'tool' || kind === 'code';
  const { fallback, onError } = values;
  if (fallback !== undefined && onError !== undefined && onError !== 'fallback') {
    const message = `The step has a \`fallback\`, but \`onError\` is ${onError}.`;
    at.in.report(at, { code: 'VALUE_INVALID', message, fix: 'Remove `onError`, or set it to fallback.' });
  }
  return {
    id,
    onError: onError ?? (fallback === undefined ? defaults.onError : 'fallback'),
    ...defined({
      description: values.description,
      if: values.if,
      timeoutMs: values.timeout ?? (isCall ? defaults.timeoutMs : undefined),
      totalTimeoutMs: values.totalTimeout,
      retry: values.retry ?? (isCall ? defaults.retry : undefined),
      fallback,
      output: values.output,
      compensate: values.compensate,
    }),
  };
}
