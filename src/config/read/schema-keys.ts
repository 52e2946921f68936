import * as z from 'zod';
import type { JsonPath } from './parse-document.ts';

/** The names a schema knows in the object at `path`; none where any name may stand. */
export function keysAt(schema: z.core.$ZodType, path: JsonPath): readonly string[] {
  let found = bare(schema);
  for (const step of path) {
    if (found instanceof z.ZodObject) found = bare(found.shape[step]);
    else if (found instanceof z.ZodRecord) found = bare(found.valueType);
    else return [];
  }
  return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
}

function bare(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  const wrapped =
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodOptional;
  return wrapped ? bare(schema.unwrap() as z.core.$ZodType) : schema;
}
