import type { Json } from '../../core/call.ts';

/** The annotations of a schema, which do not affect validity. */
export interface Notes {
  readonly title?: string;
  readonly description?: string;
  readonly default?: Json;
  readonly examples?: readonly Json[];
}

interface Place {
  /** The JSON pointer in the definition that was translated. */
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
  /** The shape of all other properties. */
  readonly rest: Shape;
  /** True when the schema has no rule for other properties. */
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
  /** True when exactly one member may match. */
  readonly exclusive: boolean;
}

export interface ReferenceShape extends Place {
  readonly kind: 'reference';
  /** The JSON pointer of its target, with `#`. */
  readonly to: string;
}

export interface PlainShape extends Place {
  readonly kind: 'any' | 'never' | 'boolean' | 'null';
}

/**
 * A schema in a normal form: one type each, no `allOf`, no boolean schemas. It covers what most dialects can express,
 * so a schema is read once and written from here.
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

/** Resolves a reference to a shape that is no reference. */
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
