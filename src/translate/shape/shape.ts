import type { Json } from '../../core/call.ts';

/** What a schema tells its reader; nothing is checked against it. */
export interface Notes {
  readonly title?: string;
  readonly description?: string;
  readonly default?: Json;
  readonly examples?: readonly Json[];
}

interface Place {
  /** Where it stood in what was translated. */
  readonly at: string;
  readonly notes: Notes;
}

export interface StringShape extends Place {
  readonly kind: 'string';
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly patterns: readonly string[];
  readonly format?: string;
}

export interface NumberShape extends Place {
  readonly kind: 'number';
  readonly integer: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multiplesOf: readonly number[];
  readonly format?: string;
}

export interface ArrayShape extends Place {
  readonly kind: 'array';
  readonly prefix: readonly Shape[];
  readonly items: Shape;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems: boolean;
}

export interface Property {
  readonly shape: Shape;
  readonly required: boolean;
}

export interface ObjectShape extends Place {
  readonly kind: 'object';
  readonly properties: ReadonlyMap<string, Property>;
  readonly patterns: readonly { readonly source: string; readonly shape: Shape }[];
  /** What every other property has to be. */
  readonly rest: Shape;
  /** True when the schema said nothing about other properties. */
  readonly silent: boolean;
  readonly names?: Shape;
  readonly minProperties?: number;
  readonly maxProperties?: number;
}

export interface EnumShape extends Place {
  readonly kind: 'enum';
  readonly values: readonly Json[];
}

export interface UnionShape extends Place {
  readonly kind: 'union';
  readonly of: readonly Shape[];
  /** Exactly one may fit. */
  readonly exclusive: boolean;
}

export interface ReferenceShape extends Place {
  readonly kind: 'reference';
  /** The pointer that it follows, from `#` on. */
  readonly to: string;
}

export interface PlainShape extends Place {
  readonly kind: 'any' | 'never' | 'boolean' | 'null';
}

/**
 * A schema with everything that has more than one spelling spelt in one way: one type each, no `allOf`, no boolean
 * schemas. All but two of the dialects can say little more than this, so it is read once and printed from here.
 */
export type Shape =
  | PlainShape
  | StringShape
  | NumberShape
  | ArrayShape
  | ObjectShape
  | EnumShape
  | UnionShape
  | ReferenceShape;

/** What a reference stands for, never a reference itself. */
export type ResolveShape = (reference: ReferenceShape) => Shape;

export const anyAt = (at: string, notes: Notes = {}): PlainShape => ({ kind: 'any', at, notes });
export const neverAt = (at: string): PlainShape => ({ kind: 'never', at, notes: {} });

export function unionAt(at: string, of: readonly Shape[], exclusive = false): Shape {
  const possible = of.filter(({ kind }) => kind !== 'never');
  const [only, second] = possible;
  if (only === undefined) return neverAt(at);
  if (second === undefined) return only;
  if (!exclusive && possible.some(({ kind }) => kind === 'any')) return anyAt(at);
  return { kind: 'union', at, notes: {}, of: possible, exclusive };
}
