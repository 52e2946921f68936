import * as z from 'zod';
import type { JsonObject } from '../../core/call.ts';
import { VERSION } from '../../core/version.ts';
import { configSchema } from './schema.ts';

/** The JSON Schema of heddle.json: what may be written, not what is made of it. */
export function configJsonSchema(): JsonObject {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ jsonSchema }) => relax(jsonSchema),
  });
  const $id = `urn:heddle:config:${VERSION}`;
  return { $schema, $id, title: 'heddle.json', ...schema } as unknown as JsonObject;
}

function relax(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format === 'uri') delete schema.format; // A `${VARIABLE}` may stand in it until the file is read.
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum; // The limit of the language, not ours.
}
