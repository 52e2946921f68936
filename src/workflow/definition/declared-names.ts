import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

const BUILT_IN = ['input', 'var', 'item', 'items', 'prev', 'index', 'loop', 'branch', 'self', 'steps', 'run'];

/** Collects every name that a definition gives: ids, branches and items. They distinguish `$a-1` from `$a - 1`. */
export function declaredNames(value: Json): ReadonlySet<string> {
  const names = new Set([...BUILT_IN, 'iteration', 'loopResults']);
  collect(value, names);
  return names;
}

function collect(value: Json | undefined, names: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, names);
  if (!isObject(value)) return;
  const { id, as, parallel, fallback } = value;
  if (typeof id === 'string') names.add(id);
  if (typeof id === 'string' && fallback !== undefined) names.add(`${id}-fallback`);
  if (typeof as === 'string') names.add(as);
  if (isObject(parallel)) for (const name of Object.keys(parallel)) names.add(name);
  for (const item of Object.values(value)) collect(item, names);
}
