import * as z from 'zod';
import type { JsonPath } from '../document.ts';

/** Returns the names that a schema defines for the object at `path`; none if any name is allowed there. */
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
