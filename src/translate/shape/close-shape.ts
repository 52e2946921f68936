import type { JsonObject } from '../../core/call.ts';
import { below } from '../loss.ts';
import { settledArray } from './intersect.ts';
import type { Reader } from './read-types.ts';
import type { Shape } from './shape.ts';

const MAX_DEPTH = 8;

/** Applies what a schema says of unevaluated properties and items to all that it is made of. */
export function closeShape(whole: Shape, schema: JsonObject, at: string, reader: Reader): Shape {
  const { unevaluatedProperties, unevaluatedItems } = schema;
  if (unevaluatedProperties === undefined && unevaluatedItems === undefined) return whole;
  const rest = reader.read(unevaluatedProperties, below(at, 'unevaluatedProperties'), undefined);
  const items = reader.read(unevaluatedItems, below(at, 'unevaluatedItems'), undefined);

  // By now everything that could evaluate a property has been merged in, so what is left is the rest.
  function close(shape: Shape, depth: number): Shape {
    if (depth > MAX_DEPTH) {
      reader.lose(at, 'unevaluatedProperties', 'wider', 'What it applies to is too deep.');
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
