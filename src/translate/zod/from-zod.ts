import { z } from 'zod';
import type { JsonObject } from '../../core/call.ts';
import { below, lossBook, type Translated } from '../loss.ts';
import { convertedTypes } from './zod.ts';

// Types without a JSON value or without a schema.
const UNREPRESENTABLE = new Set([
  'bigint',
  'symbol',
  'undefined',
  'void',
  'date',
  'map',
  'set',
  'transform',
  'custom',
  'function',
  'promise',
  'nan',
  'file',
]);

/** Converts a zod type to a JSON Schema of its input. */
export function fromZod(type: z.core.$ZodType): Translated<JsonObject> {
  const { add, all } = lossBook();
  const schema = z.toJSONSchema(type, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, path }) {
      const { def } = zodSchema._zod;
      const at = below('', ...path.map(String));
      if (UNREPRESENTABLE.has(def.type)) add(at, def.type, 'wider', 'JSON Schema cannot describe it.');
      const isChecked = def.checks?.some((check) => check._zod.def.check === 'custom');
      if (isChecked && !convertedTypes.has(zodSchema))
        add(at, 'refine', 'wider', 'JSON Schema cannot describe a check in code.');
    },
  });
  const { $schema: _, '~standard': __, ...plain } = schema as JsonObject;
  return { value: plain, lost: all() };
}
