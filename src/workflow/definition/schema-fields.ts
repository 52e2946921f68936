import { readForm } from '../../core/call/form.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { compileCheck } from '../../schema/compile.ts';
import type { SourceValue } from './compilation.ts';
import { jsonField, type SourceField } from './field.ts';

/** The JSON Schema of the input of a workflow, which is that of a tool. */
export const inputSchema = (about: string): SourceField<JsonObject> => {
  const field = jsonField(about);
  return {
    schema: field.schema,
    read(at) {
      const schema = field.read(at);
      if (!schema) return undefined;
      if (schema.type !== undefined && schema.type !== 'object') return refuseSchema(at, 'its type is not object');
      const broken = brokenSchema(schema);
      return broken === undefined ? schema : refuseSchema(at, broken);
    },
  };
};

function brokenSchema(schema: JsonObject): string | undefined {
  try {
    compileCheck(schema, 'workflow')({});
    return undefined;
  } catch (thrown) {
    const { code, message } = HeddleError.from(thrown);
    return code === 'TOOL_INVALID' ? message.replace(/^.*?: |\.$/g, '') : undefined;
  }
}

/** The flat JSON Schema of a form that approvers fill in. */
export const formSchema = (about: string): SourceField<JsonObject> => {
  const field = jsonField(about);
  return {
    schema: field.schema,
    read(at) {
      const schema = field.read(at);
      const form = schema && readForm(schema);
      return typeof form === 'string' ? refuseSchema(at, form) : schema;
    },
  };
};

const refuseSchema = (at: SourceValue, reason: string): undefined =>
  at.in.report(at, {
    code: 'SCHEMA_INVALID',
    message: `The schema cannot be used: ${reason}.`,
    fix: 'Write a JSON Schema of an object with `properties`.',
  });
