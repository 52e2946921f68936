import type { Json } from '../../core/call.ts';
import type { LoadedPolicy, SourceLocation } from '../config.ts';
import type { Document, DocumentFinding, JsonPath } from '../document.ts';
import { locateIn } from './locate-in.ts';

/** A policy rule of one file, valid by the schema. */
export interface LayerPolicy {
  readonly rule: Omit<LoadedPolicy, 'scope' | 'at' | 'condition'>;
  readonly at: SourceLocation;
  /** Returns the location of a character of `when`. */
  readonly inCondition: (offset: number) => SourceLocation;
}

/** Returns the rules of a document that the schema accepts. An invalid rule does not affect the others. */
export function policiesIn(
  document: Document,
  items: Json | undefined,
  wrong: readonly DocumentFinding[],
): readonly LayerPolicy[] {
  const isWhollyWrong = wrong.some(({ path }) => path.length < 2 && (path[0] ?? 'policies') === 'policies');
  const bad = new Set(wrong.flatMap(({ path: [first, index] }) => (first === 'policies' ? [index] : [])));
  return (Array.isArray(items) && !isWhollyWrong ? items : []).flatMap((item: Json, index): LayerPolicy[] => {
    const path = ['policies', index];
    if (bad.has(index)) return [];
    const rule = item as unknown as LayerPolicy['rule'];
    return [{ rule, at: document.locate(path), inCondition: conditionLocator(document, [...path, 'when'], rule.when) }];
  });
}

/** Returns a function that locates a character of an expression. */
export const conditionLocator =
  (document: Document, path: JsonPath, value = '') =>
  (offset: number): SourceLocation => {
    const at = document.locate(path);
    return hasText(document) ? locateIn(document, at, { value, offset }) : at;
  };

const hasText = (document: Document): document is Document & { readonly text: string } => document.text !== undefined;
