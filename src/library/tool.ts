import type { Facts } from '../core/call/facts.ts';
import type { JsonObject, Target } from '../core/call.ts';
import type { Hit } from '../core/records/listing.ts';
import type { SignalOptions } from './check-options.ts';

/** A tool, under its public name. */
export interface Tool {
  readonly name: string;
  /** The servers that have it, in order of preference. */
  readonly servers: readonly string[];
  /** The definition exactly as its server wrote it, with the server's own name for it. */
  readonly definition: JsonObject;
  /** Facts that Heddle uses for its decisions, such as `readOnly` and `riskLevel`. */
  readonly facts: Facts;
  /** Warnings for a person, such as `looks-like: <public name>`. */
  readonly flags: readonly string[];
  /** SHA-256 of the definition as canonical JSON; for a pool, of all its definitions if they differ. */
  readonly digest: string;
}

/** Limits a list of tools to a server, a category or both. `signal` ends the wait for servers never seen. */
export interface ToolFilter {
  readonly server?: string;
  readonly category?: string;
  readonly signal?: AbortSignal;
}

/** A hit of a search. Scores are comparable within one search only. */
export interface FoundTool extends Tool {
  readonly score: number;
  readonly reason: Hit['reason'];
}

/** Limits the number of hits of a search. */
export interface ToolSearchOptions extends SignalOptions {
  readonly limit?: number;
}

/** Returns a tool as programs see it. */
export const toTool = (target: Target): Tool => ({
  name: target.publicName,
  servers: target.servers,
  definition: target.definition,
  facts: target.facts,
  flags: target.flags,
  get digest() {
    return target.digest; // Computed on first access.
  },
});
