import type { Target } from '../../core/call.ts';
import type { Catalog } from '../catalog.ts';
import type { ExtensionMethods } from './extension-methods.ts';

/** Returns the target of a method that the entry of only one server lists, visible or not. */
export function findMethod(methods: ExtensionMethods, name: string, catalog: Catalog): Target | undefined {
  const [first, ...others] = methods.get(name) ?? [];
  return others.length === 0 ? first?.targetIn(catalog) : undefined;
}
