import type { JsonObject } from '../../core/call.ts';
import type { Step } from '../definition/canonical.ts';

/** A name as lint knows it: a step, or a value with its schema. */
export type LintName =
  | { readonly step: Step; readonly scope: LintScope; readonly mayBeSkipped: boolean }
  | { readonly schema?: JsonObject };

/** The names that can be read at one place of a definition. */
export interface LintScope {
  find(name: string): LintName | undefined;
  names(): readonly string[];
  add(name: string, known: LintName): void;
}

/** Opens a scope inside of another. */
export function openLintScope(outer: LintScope | undefined, values: Readonly<Record<string, LintName>>): LintScope {
  const own = new Map(Object.entries(values));
  return {
    find: (name) => own.get(name) ?? outer?.find(name),
    names: () => [...own.keys(), ...(outer?.names() ?? [])],
    add: (name, known) => void own.set(name, known),
  };
}

/** Adds values for some mappings. Steps that are added belong to the scope around. */
export function withLintValues(scope: LintScope, values: Readonly<Record<string, LintName>>): LintScope {
  return { ...openLintScope(scope, values), add: scope.add };
}
