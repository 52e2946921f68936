import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import type { ListKind } from '../../upstream/connection.ts';
import { beyond, type CapabilityTools } from './capability-entries.ts';

interface StoredList {
  /** The hash of the list's JSON; the JSON would be as large as the list. */
  readonly hash: string;
  readonly items: readonly JsonObject[];
}

const NONE: CapabilityTools = new Map();

/** The lists of all servers as they were sent: those of shared connections, and tools by capability set. */
export class ServerLists {
  readonly #lists = new Map<string, Map<ListKind, StoredList>>();
  readonly #byCapability = new Map<string, Map<number, readonly JsonObject[]>>();

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

  /** Replaces a list. Returns false if it did not change. */
  put(server: string, kind: ListKind, items: readonly JsonObject[]): boolean {
    const own = this.#lists.get(server) ?? new Map<ListKind, StoredList>();
    const hash = createHash('sha256').update(JSON.stringify(items)).digest('base64url');
    if (own.get(kind)?.hash === hash) return false;
    this.#lists.set(server, own.set(kind, { hash, items }));
    return true;
  }

  /** Returns the tools of a server by capability set. */
  byCapability(server: string): CapabilityTools {
    return this.#byCapability.get(server) ?? NONE;
  }

  putCapabilityTools(server: string, capabilities: number, tools: readonly JsonObject[]): void {
    this.#byCapability.set(server, (this.#byCapability.get(server) ?? new Map()).set(capabilities, tools));
  }

  /** Returns the list that clients with these capabilities see on the shared connection. */
  itemsFor(server: string, kind: ListKind, capabilities: number): readonly JsonObject[] {
    const shared = this.items(server, kind);
    return kind === 'tools' ? [...shared, ...this.additionalTools(server, capabilities)] : shared;
  }

  /** Returns the tools that clients with these capabilities see in addition to the shared list. */
  additionalTools(server: string, capabilities: number): readonly JsonObject[] {
    return beyond(this.items(server, 'tools'), this.byCapability(server).get(capabilities) ?? []);
  }

  forget(server: string): void {
    this.#lists.delete(server);
    this.#byCapability.delete(server);
  }
}
