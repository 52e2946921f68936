import { createHash } from 'node:crypto';
import type { ServerEntry } from '../../config/schema/schema.ts';
import { type Facts, UNDECLARED_FACTS } from '../../core/call/facts.ts';
import type { JsonObject, Target } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { Catalog } from '../catalog.ts';
import type { Owners } from '../live-catalog.ts';

/** A method of an extension at one server whose entry lists it. */
export interface ExtensionMethod {
  readonly server: string;
  /** Returns its target, with the tools that the server has in this catalog. The same object for the same catalog. */
  targetIn(catalog: Catalog): Target;
}

/** The methods that server entries list: by method, and by the public name `mcp__server__method`. */
export type ExtensionMethods = ReadonlyMap<string, readonly ExtensionMethod[]>;

/** Collects the methods of extensions that server entries list. */
export function extensionMethodsOf(owners: Owners): ExtensionMethods {
  const found = new Map<string, ExtensionMethod[]>();
  for (const [server, { entry }] of [...owners].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const [method, extension] of methodsIn(entry)) {
      const one = methodAt(server, { method, extension, facts: factsOf(entry) });
      found.set(method, [...(found.get(method) ?? []), one]);
      found.set(extensionName(server, method), [one]);
    }
  }
  return found;
}

/** Returns the public name of a method. Methods have `/` or `.`, so no tool has this name. */
const extensionName = (server: string, method: string): string => `mcp__${server}__${method}`;

/** Returns each method of an entry with the first extension that has it. */
function methodsIn(entry: ServerEntry | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [extension, { methods }] of Object.entries(entry?.extensions ?? {})) {
    for (const method of methods) if (!found.has(method)) found.set(method, extension);
  }
  return found;
}

interface Listed {
  readonly method: string;
  readonly extension: string;
  readonly facts: Facts;
}

function methodAt(server: string, { method, extension, facts }: Listed): ExtensionMethod {
  const definition: JsonObject = { name: method, extension };
  const digest = createHash('sha256').update(canonicalJson(definition)).digest('hex');
  const plain: Target = {
    kind: 'extension',
    publicName: extensionName(server, method),
    servers: [server],
    name: method,
    group: server,
    shownAs: method,
    definition,
    digest,
    facts,
    flags: [],
  };
  const targets = new WeakMap<Catalog, Target>();
  return {
    server,
    targetIn(catalog) {
      const known = targets.get(catalog);
      if (known) return known;
      const tools = catalog.targets.filter(({ servers }) => servers.includes(server));
      const target = { ...plain, tools };
      targets.set(catalog, target);
      return target;
    },
  };
}

/** Returns the facts of an unknown write: nothing that a server says makes a method milder. */
const factsOf = (entry: ServerEntry | undefined): Facts => ({
  ...UNDECLARED_FACTS,
  ...(entry?.category !== undefined && { category: entry.category }),
  ...(entry?.timeoutMs !== undefined && { timeoutMs: entry.timeoutMs }),
  ...(entry?.taints && { taints: entry.taints }),
});
