import type { JsonObject } from '../../core/call.ts';
import { below } from '../loss.ts';
import { settledArray } from './intersect.ts';
import type { Reader } from './read-types.ts';
import type { Shape } from './shape.ts';

const MAX_DEPTH = 8;

/** Applies `unevaluatedProperties` and `unevaluatedItems` to a merged shape. */
export function closeShape(whole: Shape, schema: JsonObject, at: string, reader: Reader): Shape {
  const { unevaluatedProperties, unevaluatedItems } = schema;
  if (unevaluatedProperties === undefined && unevaluatedItems === undefined) return whole;
  const rest = reader.read(unevaluatedProperties, below(at, 'unevaluatedProperties'), undefined);
  const items = reader.read(unevaluatedItems, below(at, 'unevaluatedItems'), undefined);

  // All subschemas that evaluate a property are merged by now, so the rest is unevaluated.
  function close(shape: Shape, depth: number): Shape {
    if (depth > MAX_DEPTH) {
      reader.lose(at, 'unevaluatedProperties', 'wider', 'The schema that it applies to is too deep.');
      return shape;
    }
    switch (shape.kind) {
      case 'object':
        return { ...shape, rest: reader.intersect(shape.rest, rest), silent: false };
      case 'array':
        return settledArray({ ...shape, items: reader.intersect(shape.items, items) });
      case 'reference':
        return close({ ...reader.resolve(shape), notes: shape.notes }, depth + 1);
      case 'union':
        return { ...shape, of: shape.of.map((member) => close(member, depth + 1)) };
      default:
        return shape;
    }
  }
  return close(whole, 0);
}
