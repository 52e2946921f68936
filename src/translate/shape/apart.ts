import type { Json } from '../../core/call.ts';
import { acceptsValue } from './accepts-value.ts';
import { anyAt, type ObjectShape, type ResolveShape, type Shape, type UnionShape } from './shape.ts';

const MAX_DEPTH = 8;
const MAX_MEMBERS = 50;
const MAX_STEPS = 2_000;

/**
 * Returns true when no value matches two members of a union, so that `oneOf` and `anyOf` mean the same. Objects are
 * assumed to have only named properties, which holds in the dialects that use this.
 */
export function areApart({ of }: UnionShape, resolve: ResolveShape): boolean {
  if (of.length > MAX_MEMBERS) return false;
  let steps = 0;
  const counted: ResolveShape = (reference) => (++steps > MAX_STEPS ? anyAt(reference.at) : resolve(reference));
  return of.every((one, at) => of.every((other, index) => at === index || isApart(one, other, counted, 0)));
}

function isApart(one: Shape, other: Shape, resolve: ResolveShape, depth: number): boolean {
  if (depth > MAX_DEPTH) return false;
  const inner = (a: Shape, b: Shape) => isApart(a, b, resolve, depth + 1);
  if (one.kind === 'reference') return inner(resolve(one), other);
  if (other.kind === 'reference') return inner(one, resolve(other));
  if (one.kind === 'union') return one.of.every((member) => inner(member, other));
  if (other.kind === 'union') return other.of.every((member) => inner(one, member));
  return simpleApart(one, other, resolve) ?? (one.kind === 'object' && objectsApart(one, other as ObjectShape, inner));
}

/** Returns undefined when both shapes are of one kind and their content decides. */
function simpleApart(one: Shape, other: Shape, resolve: ResolveShape): boolean | undefined {
  if (one.kind === 'enum') return one.values.every((value: Json) => !acceptsValue(other, value, resolve));
  if (other.kind === 'enum') return other.values.every((value: Json) => !acceptsValue(one, value, resolve));
  if (one.kind === 'any' || other.kind === 'any') return false;
  return one.kind === other.kind && one.kind !== 'never' ? undefined : true;
}

function objectsApart(closed: ObjectShape, open: ObjectShape, inner: (a: Shape, b: Shape) => boolean): boolean {
  const forbids = (shape: ObjectShape, name: string) => shape.properties.get(name)?.shape.kind === 'never';
  const needs = (shape: ObjectShape) => [...shape.properties].filter(([, { required }]) => required);
  return (
    needs(open).some(([name]) => !closed.properties.has(name) || forbids(closed, name)) ||
    needs(closed).some(([name, { shape }]) => {
      const there = open.properties.get(name)?.shape;
      return there ? inner(shape, there) : open.rest.kind === 'never' && open.patterns.length === 0;
    })
  );
}
