import { BoundedMap } from '../../../../core/bounded-map.ts';
import { type Clock, steadyClock } from '../../../../core/time.ts';
import { quote } from '../../../tool-failure.ts';
import { DatabaseFailure } from '../../database-failure.ts';
import type { FunctionUse, PostgresStatement } from './check-postgres-statement.ts';
import { changesState, isDangerousFunction, isHarmlessFunction } from './function-lists.ts';
import { describePosition, type StatementRules } from './refusal.ts';

/** Looks names up in the catalog of the database: functions by name, casts by the name of a type. */
export type LookUpVolatile = (functions: readonly string[], types: readonly string[]) => Promise<VolatileNames>;

/** The names among those looked up that stand for a volatile function. */
export interface VolatileNames {
  /** Functions, and aggregates that use one. */
  readonly functions: readonly string[];
  /** Functions that take one value, so that `(value).name` calls them. */
  readonly attributes: readonly string[];
  /** Types whose casts call one. */
  readonly types: readonly string[];
}

// Functions that internal code calls and that no statement can call are left out: no column may be mistaken for one.
/** Finds the volatile functions of all schemas by name. Any overload counts. */
export const VOLATILE_NAMES_SQL = `
  WITH named AS (
    SELECT 'function' AS kind, p.proname::text AS name, p.oid, p.pronargs, p.pronargdefaults
    FROM pg_catalog.pg_proc p
    WHERE p.proname = ANY ($1::pg_catalog.text[])
      AND NOT ('internal'::pg_catalog.regtype = ANY (p.proargtypes::pg_catalog.oid[]))
      AND p.prorettype NOT IN ('trigger'::pg_catalog.regtype, 'event_trigger'::pg_catalog.regtype)
    UNION ALL
    SELECT 'type', t.typname::text, c.castfunc, 1, 0
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_cast c ON t.oid = c.casttarget
    WHERE t.typname = ANY ($2::pg_catalog.text[]) AND t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
  ), reached AS (
    SELECT * FROM named
    UNION ALL
    SELECT n.kind, n.name, part.oid, n.pronargs, n.pronargdefaults
    FROM named n JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = n.oid
    CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
      a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::pg_catalog.oid[]) AS part (oid)
  )
  SELECT r.kind, r.name, pg_catalog.bool_or(r.pronargs >= 1 AND r.pronargs - r.pronargdefaults <= 1) AS attribute
  FROM reached r JOIN pg_catalog.pg_proc p ON p.oid = r.oid
  WHERE p.provolatile = 'v'
  GROUP BY 1, 2`;

/** Throws a `DatabaseFailure` that names a function that no statement may call. */
export function refuseDangerous({ functions }: PostgresStatement, rules: StatementRules): void {
  const isRead = rules.access === 'read';
  const dangerous = functions.find(({ name }) => isDangerousFunction(name) || (isRead && changesState(name)));
  if (dangerous) throw refuse(dangerous, rules, DANGEROUS);
}

/** Checks the functions of a statement for reading. */
export interface FunctionCheck {
  /** Throws a `DatabaseFailure` that names a volatile function. */
  check(statement: PostgresStatement, rules: StatementRules, lookUp: LookUpVolatile): Promise<void>;
}

const MAX_NAMES = 10_000;
/** A function that is replaced by a volatile one is noticed after this time. The transaction is read-only anyway. */
const KNOWN_MS = 60_000;

/** The verdict of the catalog on a name of a function, an attribute or a type. */
interface Verdict {
  readonly isVolatile: boolean;
  readonly until: number;
}

/** Returns the check for one database. It remembers names for a minute. */
export function functionCheck(allowFunctions: readonly string[], clock: Clock = steadyClock): FunctionCheck {
  const allowed = new Set(allowFunctions.map((name) => name.toLowerCase()));
  const isAllowed = ({ schema, name }: FunctionUse) => allowed.has(name) || allowed.has(`${schema}.${name}`);
  const verdicts = new BoundedMap<string, Verdict>(MAX_NAMES);
  const verdictOf = (key: string) => {
    const verdict = verdicts.get(key);
    return verdict && verdict.until > clock() ? verdict : undefined;
  };

  async function learn(functions: readonly string[], types: readonly string[], lookUp: LookUpVolatile): Promise<void> {
    const newFunctions = functions.filter((name) => !verdictOf(`function ${name}`));
    const newTypes = types.filter((name) => !verdictOf(`type ${name}`));
    if (newFunctions.length + newTypes.length === 0) return;
    const found = await lookUp(newFunctions, newTypes);
    const until = clock() + KNOWN_MS;
    const record = (kind: string, names: readonly string[], isVolatile: readonly string[]) => {
      const volatileNames = new Set(isVolatile);
      for (const name of names) verdicts.set(`${kind} ${name}`, { isVolatile: volatileNames.has(name), until });
    };
    record('function', newFunctions, found.functions);
    record('attribute', newFunctions, found.attributes);
    record('type', newTypes, found.types);
  }

  return {
    async check({ functions, types }, rules, lookUp) {
      if (rules.access === 'write') return;
      const unsettled = functions.filter((use) => !isHarmlessFunction(use.name) && !isAllowed(use));
      const names = [...new Set(unsettled.map(({ name }) => name))];
      // The name of a type followed by parentheses is a cast, too.
      const casts = [...new Set([...types, ...names])];
      await learn(names, casts, lookUp);
      const isVolatile = (key: string) => verdictOf(key)?.isVolatile === true;
      const found = unsettled.find(({ isAttribute, name }) =>
        isVolatile(`${isAttribute ? 'attribute' : 'function'} ${name}`),
      );
      if (found) throw refuse(found, rules, VOLATILE);
      const cast = casts.find((name) => isVolatile(`type ${name}`));
      if (cast !== undefined) throw refuseCast(cast, rules);
    },
  };
}

const DANGEROUS = 'It waits, locks, signals, reads files, runs SQL text or changes state. Leave it out.';
const VOLATILE =
  'It is volatile: it may change something. Leave it out, or have the operator add it to allowFunctions.';

function refuse({ name, at }: FunctionUse, rules: StatementRules, reason: string): DatabaseFailure {
  const place = at === undefined ? '' : ` (${describePosition(rules.sql, at)})`;
  const text = `The function ${quote(name)}${place} is not permitted for ${wordOf(rules)} on the connection "${rules.connection}". ${reason}`;
  return new DatabaseFailure('STATEMENT_REFUSED', text);
}

function refuseCast(type: string, rules: StatementRules): DatabaseFailure {
  const text = `A cast of the type ${quote(type)} is not permitted for ${wordOf(rules)} on the connection "${rules.connection}": it calls a volatile function. Leave it out.`;
  return new DatabaseFailure('STATEMENT_REFUSED', text);
}

const wordOf = ({ access }: StatementRules): string => (access === 'read' ? 'reading' : 'writing');
