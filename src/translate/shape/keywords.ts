import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

export const TYPES: ReadonlySet<string> = new Set([
  'null',
  'boolean',
  'object',
  'array',
  'number',
  'string',
  'integer',
]);

/** Keywords whose value is a schema. */
export const SCHEMAS: ReadonlySet<string> = new Set([
  'additionalProperties',
  'propertyNames',
  'items',
  'contains',
  'unevaluatedItems',
  'unevaluatedProperties',
  'not',
  'if',
  'then',
  'else',
]);
/** Keywords whose value is a list of schemas. */
export const LISTS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Keywords whose value maps names to schemas. */
export const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs']);

const isText = (value: Json | undefined) => typeof value === 'string';
const isFlag = (value: Json | undefined) => typeof value === 'boolean';
const isCount = (value: Json | undefined) => Number.isInteger(value) && Number(value) >= 0;
const isNumber = (value: Json | undefined) => Number.isFinite(value);
const isTexts = (value: Json | undefined) => Array.isArray(value) && value.every(isText);
const isType = (value: Json | undefined) => typeof value === 'string' && TYPES.has(value);

const FORMS = new Map<string, (value: Json | undefined) => boolean>(
  Object.entries({
    type: (value: Json | undefined) =>
      isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType)),
    enum: (value: Json | undefined) => Array.isArray(value) && value.length > 0,
    required: isTexts,
    dependentRequired: (value: Json | undefined) => isObject(value) && Object.values(value).every(isTexts),
    multipleOf: (value: Json | undefined) => isNumber(value) && Number(value) > 0,
    minimum: isNumber,
    maximum: isNumber,
    exclusiveMinimum: isNumber,
    exclusiveMaximum: isNumber,
    minLength: isCount,
    maxLength: isCount,
    minItems: isCount,
    maxItems: isCount,
    minContains: isCount,
    maxContains: isCount,
    minProperties: isCount,
    maxProperties: isCount,
    uniqueItems: isFlag,
    pattern: isText,
    format: isText,
    title: isText,
    description: isText,
    $comment: isText,
    $anchor: isText,
    $dynamicAnchor: isText,
    $ref: isText,
    $dynamicRef: isText,
    examples: Array.isArray,
  }),
);

/** Returns true when the value of a keyword has the right type. Unknown keywords may have any value. */
export const isWellFormed = (keyword: string, value: Json | undefined): boolean => FORMS.get(keyword)?.(value) ?? true;
