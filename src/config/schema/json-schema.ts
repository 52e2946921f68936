import * as z from 'zod';
import type { JsonObject } from '../../core/call.ts';
import { VERSION } from '../../core/version.ts';
import { configSchema } from './schema.ts';

/** Returns the JSON Schema of heddle.json as it is written, before expansion and defaults. */
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
  if (schema.format === 'uri') delete schema.format; // The text may contain `${VARIABLE}`.
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum; // zod's own limit for integers.
}
