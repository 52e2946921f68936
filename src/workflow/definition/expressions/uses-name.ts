import type { Mapping } from '../canonical.ts';

/** Returns true if a mapping reads a name: `$item`. */
export function usesName(mapping: Mapping, name: string): boolean {
  const inCel = `scope[${JSON.stringify(name)}]`;
  if ('ref' in mapping) return mapping.ref.name === name;
  if ('cel' in mapping) return mapping.cel.includes(inCel);
  if ('template' in mapping)
    return mapping.template.some((part) => typeof part !== 'string' && part.cel.includes(inCel));
  if ('list' in mapping) return mapping.list.some((item) => usesName(item, name));
  return 'object' in mapping && Object.values(mapping.object).some((item) => usesName(item, name));
}
