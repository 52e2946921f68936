import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import type { ListKind } from '../../upstream/connection.ts';
import { beyond, type CapabilityTools } from './capability-entries.ts';

interface Taken {
  /** The hash of the list's JSON, which would be as large as the list itself. */
  readonly hash: string;
  readonly items: readonly JsonObject[];
}

const NONE: CapabilityTools = new Map();

/** The lists of all servers as they were written: those of shared connections, and tools by capability set. */
export class ServerLists {
  readonly #lists = new Map<string, Map<ListKind, Taken>>();
  readonly #able = new Map<string, Map<number, readonly JsonObject[]>>();

  servers(): readonly string[] {
    return [...this.#lists.keys()];
  }

  has(server: string, kind: ListKind): boolean {
    return this.#lists.get(server)?.has(kind) === true;
  }

  items(server: string, kind: ListKind): readonly JsonObject[] {
    return this.#lists.get(server)?.get(kind)?.items ?? [];
  }

  of(server: string): readonly (readonly [ListKind, readonly JsonObject[]])[] {
    return [...(this.#lists.get(server) ?? [])].map(([kind, { items }]) => [kind, items]);
  }

  /** Takes a list; false when it is the one before. */
  put(server: string, kind: ListKind, items: readonly JsonObject[]): boolean {
    const own = this.#lists.get(server) ?? new Map<ListKind, Taken>();
    const hash = createHash('sha256').update(JSON.stringify(items)).digest('base64url');
    if (own.get(kind)?.hash === hash) return false;
    this.#lists.set(server, own.set(kind, { hash, items }));
    return true;
  }

  /** The tools that new connections list, by the capabilities they declare. */
  able(server: string): CapabilityTools {
    return this.#able.get(server) ?? NONE;
  }

  putAble(server: string, abilities: number, tools: readonly JsonObject[]): void {
    this.#able.set(server, (this.#able.get(server) ?? new Map()).set(abilities, tools));
  }

  /** The tools that clients with these capabilities see beside those of the shared connection. */
  more(server: string, abilities: number): readonly JsonObject[] {
    return beyond(this.items(server, 'tools'), this.able(server).get(abilities) ?? []);
  }

  forget(server: string): void {
    this.#lists.delete(server);
    this.#able.delete(server);
  }
}
