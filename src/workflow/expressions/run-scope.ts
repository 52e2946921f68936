import type { Json } from '../../core/call.ts';

/**
 * The names that a step can read: `input`, `var`, step ids, and the names of the steps around it. Values are loaded: a
 * value that is stored apart is not in a scope.
 */
export interface RunScope {
  /** Returns the value of a name; undefined if there is none. */
  get(name: string): Json | undefined;
  /** Lists the names, those of inner steps first. */
  names(): Iterable<string>;
}

/** Creates a scope. It reads `values` at each access, so that results can be added. Its names hide those of `outer`. */
export function createScope(values: ReadonlyMap<string, Json>, outer?: RunScope): RunScope {
  return {
    get: (name) => values.get(name) ?? (values.has(name) ? null : outer?.get(name)),
    *names() {
      yield* values.keys();
      if (outer) for (const name of outer.names()) if (!values.has(name)) yield name;
    },
  };
}
