import type { Json, JsonObject } from '../core/call.ts';

/** The keyword that stands beside each reference and counts how often it is followed. */
export const VISIT = 'heddle:visit';

export interface VisitCounter {
  restart(): void;
  /** Throws when one check has followed too many references. */
  count(): boolean;
}

const MAX_VISITS = 100_000;
// What stands in these is a value, not a schema.
const VALUES = new Set(['const', 'enum', 'default', 'examples']);

/** References that fan out make a small schema take exponential time, so each check may follow only so many. */
export function visitCounter(): VisitCounter {
  let visits = 0;
  return {
    restart() {
      visits = 0;
    },
    count() {
      if (++visits > MAX_VISITS) throw new Error(`checking follows more than ${MAX_VISITS} references`);
      return true;
    },
  };
}

/** The same schema with the counting keyword beside each reference. */
export function countedReferences(schema: JsonObject): JsonObject {
  const counted = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, VALUES.has(key) ? value : countedIn(value)]),
  );
  return isReference(schema) ? { ...counted, [VISIT]: true } : counted;
}

function countedIn(value: Json | undefined): Json | undefined {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => countedIn(item) as Json);
  return countedReferences(value as JsonObject);
}

const isReference = ({ $ref, $dynamicRef }: JsonObject) => typeof $ref === 'string' || typeof $dynamicRef === 'string';
