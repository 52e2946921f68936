import type { JsonObject } from '../../core/call.ts';
import { classicFields } from './classic/read-workflow.ts';
import { CLASSIC_TYPES } from './classic/step-types.ts';
import { SHARED_SCHEMAS } from './rich/common-fields.ts';
import { workflowFields } from './rich/read-workflow.ts';
import { KINDS } from './rich/step-kinds.ts';

const ref = (name: string): JsonObject => ({ $ref: `#/$defs/${name}` });
const oneOrMore = (name: string): JsonObject => ({
  anyOf: [ref(name), { type: 'array', items: ref(name), minItems: 1 }],
});

/** Chooses the schema by the key that identifies a step, so that editors report the errors of that kind only. */
function byKey(kinds: readonly (readonly [key: string, schema: JsonObject])[]): JsonObject {
  return {
    type: 'object',
    anyOf: kinds.map(([key]) => ({ required: [key] })),
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this key.
    allOf: kinds.map(([key, schema]) => ({ if: { required: [key] }, then: schema })),
  };
}

/** Returns the JSON Schema of definitions of both forms. The fields that read them describe themselves. */
export function workflowJsonSchema(): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Heddle workflow',
    description: 'A workflow of Heddle: the rich form with `heddle: 1`, or the classic form.',
    type: 'object',
    if: { required: ['heddle'] },
    // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this key.
    then: { ...workflowFields.schema, required: ['heddle', 'steps'] },
    else: classicFields.schema,
    $defs: {
      ...SHARED_SCHEMAS,
      step: { allOf: [ref('unnamedStep')], required: ['id'] },
      unnamedStep: byKey(Object.entries(KINDS).map(([key, { fields }]) => [key, fields.schema])),
      steps: { ...oneOrMore('step'), description: 'Steps, in order.' },
      branch: { anyOf: [ref('unnamedStep'), { type: 'array', items: ref('step'), minItems: 1 }] },
      mapping: { description: 'Value with references `$step.result` and expressions `${{ … }}`.' },
      input: { anyOf: [{ type: 'object' }, { type: 'string', pattern: '^\\$' }] },
      condition: { type: ['string', 'boolean'], minLength: 1 },
      expression: { type: ['string', 'boolean', 'array'], minLength: 1 },
      classicStep: { anyOf: Object.values(CLASSIC_TYPES).map(({ fields }) => fields.schema) },
      classicSteps: oneOrMore('classicStep'),
      classicMapping: { description: 'Reference, JSON in a text, or a plain value.' },
      classicCondition: { type: ['string', 'boolean', 'number', 'null'] },
    },
  };
}
