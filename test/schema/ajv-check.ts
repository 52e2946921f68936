import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../src/core/call.ts';

const OPTIONS = { strict: false, logger: false, validateFormats: false, ownProperties: true } as const;
const OLD_DRAFT = /draft-0[3-7]/;

/** Compiles a schema with ajv, to compare with. Throws if ajv cannot compile it. */
export function ajvCheck(schema: JsonObject): (value: Json) => boolean {
  const isOld = typeof schema.$schema === 'string' && OLD_DRAFT.test(schema.$schema);
  const options = { ...OPTIONS, meta: false, validateSchema: false };
  const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
  const validate = ajv.compile(schema);
  return (value) => validate(value) === true;
}
