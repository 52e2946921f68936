import { BoundedMap } from '../../../../core/bounded-map.ts';
import { type Clock, steadyClock } from '../../../../core/time.ts';
import { quote } from '../../../tool-failure.ts';
import { DatabaseFailure } from '../../database-failure.ts';
import type { FunctionUse, PostgresStatement } from './check-postgres-statement.ts';
import { changesState, isDangerousFunction, isHarmlessFunction, isLiftableFunction } from './function-lists.ts';
import { describeAccess, describePosition, type StatementRules } from './refusal.ts';

/** Names to look up in the catalog of the database. */
export interface CatalogNames {
  readonly functions: readonly string[];
  /** Types, for their casts. */
  readonly types: readonly string[];
  readonly operators: readonly string[];
}

/** Looks names up in the catalog of the database. */
export type LookUpVolatile = (names: CatalogNames) => Promise<VolatileNames>;

/** The names among those looked up that stand for a volatile function. */
export interface VolatileNames {
  /** Functions, and aggregates that use one. */
  readonly functions: readonly string[];
  /** Functions that take one value, so that `(value).name` calls them. */
  readonly ofValues: readonly string[];
  /** Functions that take one row, so that `row.name` calls them. */
  readonly ofRows: readonly string[];
  /** Types whose casts call one. */
  readonly types: readonly string[];
  readonly operators: readonly string[];
}

// Functions that internal code calls and that no statement can call are left out: no column may be mistaken for one.
/** Finds the volatile functions of all schemas by name. Any overload counts. */
export const VOLATILE_NAMES_SQL = `
  WITH named AS (
    SELECT 'function' AS kind, p.proname::text AS name, p.oid,
      p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 AS takes_one, EXISTS (
        SELECT FROM pg_catalog.pg_type t LEFT JOIN pg_catalog.pg_type base ON base.oid = t.typbasetype
        WHERE t.oid = p.proargtypes[0] AND (t.typtype = 'c' OR base.typtype IN ('c', 'd')
          OR t.typname IN ('record', 'any', 'anyelement', 'anynonarray', 'anycompatible', 'anycompatiblenonarray')
          OR EXISTS (SELECT FROM pg_catalog.pg_cast c JOIN pg_catalog.pg_type source ON source.oid = c.castsource
            WHERE c.casttarget = t.oid AND source.typtype = 'c' AND c.castcontext = 'i'))
      ) AS takes_row
    FROM pg_catalog.pg_proc p
    WHERE p.proname = ANY ($1::pg_catalog.text[])
      AND NOT ('internal'::pg_catalog.regtype = ANY (p.proargtypes::pg_catalog.oid[]))
      AND p.prorettype NOT IN ('trigger'::pg_catalog.regtype, 'event_trigger'::pg_catalog.regtype)
    UNION ALL
    SELECT 'operator', o.oprname::text, o.oprcode, false, false
    FROM pg_catalog.pg_operator o
    WHERE o.oprname = ANY ($3::pg_catalog.text[]) AND o.oprnamespace <> 'pg_catalog'::pg_catalog.regnamespace
    UNION ALL
    SELECT 'type', t.typname::text, c.castfunc, false, false
    FROM pg_catalog.pg_type t JOIN pg_catalog.pg_cast c ON t.oid = c.casttarget
    WHERE t.typname = ANY ($2::pg_catalog.text[]) AND t.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace
  ), reached AS (
    SELECT * FROM named
    UNION ALL
    SELECT n.kind, n.name, part.oid, n.takes_one, n.takes_row
    FROM named n JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = n.oid
    CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn,
      a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]::pg_catalog.oid[]) AS part (oid)
  )
  SELECT r.kind, r.name, pg_catalog.bool_or(r.takes_one) AS takes_one,
    pg_catalog.bool_or(r.takes_one AND r.takes_row) AS takes_row
  FROM reached r JOIN pg_catalog.pg_proc p ON p.oid = r.oid
  WHERE p.provolatile = 'v'
  GROUP BY 1, 2`;

/** Returns a test for the functions and operators that the configuration permits, by name or schema and name. */
export function functionAllower(allowFunctions: readonly string[]): (use: FunctionName) => boolean {
  const allowed = new Set(allowFunctions.map((name) => name.toLowerCase()));
  return ({ schema, name }) => allowed.has(name) || allowed.has(`${schema}.${name}`);
}

type FunctionName = Pick<FunctionUse, 'schema' | 'name'>;

/**
 * Throws a `DatabaseFailure` that names a function that no statement may call. `row.name` is most likely a column, so
 * the catalog settles it.
 */
export function refuseDangerous(
  { functions }: PostgresStatement,
  rules: StatementRules,
  isAllowed: (use: FunctionName) => boolean = () => false,
): void {
  // Postgres calls stable functions while it plans.
  const isRead = rules.access !== 'write';
  const dangerous = functions.find(
    (use) =>
      use.form !== 'row' &&
      (isDangerousFunction(use.name) || (isRead && changesState(use.name))) &&
      !(isLiftableFunction(use.name) && isAllowed(use)),
  );
  if (dangerous) throw refuse(dangerous, rules, isLiftableFunction(dangerous.name) ? LIFTABLE : DANGEROUS);
}

/** Checks the functions of a statement by the catalog. */
export interface FunctionCheck {
  /**
   * Throws a `DatabaseFailure` that names a volatile function. In a statement for writing only dangerous ones count, and
   * in a plan: planning calls no volatile function.
   */
  check(statement: PostgresStatement, rules: StatementRules, lookUp: LookUpVolatile): Promise<void>;
}

const MAX_NAMES = 10_000;
/** A function that is replaced by a volatile one is noticed after this time. The transaction is read-only anyway. */
const KNOWN_MS = 60_000;

/** The verdict of the catalog on a name: of a function in each form, of a type, of an operator. */
interface Verdict {
  readonly isVolatile: boolean;
  readonly until: number;
}

/** Returns the check for one database. It remembers names for a minute. */
export function functionCheck(allowFunctions: readonly string[], clock: Clock = steadyClock): FunctionCheck {
  const isAllowed = functionAllower(allowFunctions);
  const verdicts = new BoundedMap<string, Verdict>(MAX_NAMES);
  const verdictOf = (key: string) => {
    const verdict = verdicts.get(key);
    return verdict && verdict.until > clock() ? verdict : undefined;
  };

  async function learn(names: CatalogNames, lookUp: LookUpVolatile): Promise<void> {
    const unknown = {
      functions: names.functions.filter((name) => !verdictOf(`call ${name}`)),
      types: names.types.filter((name) => !verdictOf(`type ${name}`)),
      operators: names.operators.filter((name) => !verdictOf(`operator ${name}`)),
    };
    if (Object.values(unknown).every((list) => list.length === 0)) return;
    const found = await lookUp(unknown);
    const until = clock() + KNOWN_MS;
    const record = (kind: string, list: readonly string[], isVolatile: readonly string[]) => {
      const volatileNames = new Set(isVolatile);
      for (const name of list) verdicts.set(`${kind} ${name}`, { isVolatile: volatileNames.has(name), until });
    };
    record('call', unknown.functions, found.functions);
    record('value', unknown.functions, found.ofValues);
    record('row', unknown.functions, found.ofRows);
    record('type', unknown.types, found.types);
    record('operator', unknown.operators, found.operators);
  }

  const isVolatile = (key: string) => verdictOf(key)?.isVolatile === true;
  const isCounted = ({ name, form }: FunctionUse, isRead: boolean) =>
    isRead ? !isHarmlessFunction(name) : form === 'row' && isDangerousFunction(name);

  return {
    async check(statement, rules, lookUp) {
      const isRead = rules.access === 'read' && !statement.isPlan;
      const unsettled = statement.functions.filter((use) => isCounted(use, isRead) && !isAllowed(use));
      const functions = [...new Set(unsettled.map(({ name }) => name))];
      // The name of a type followed by parentheses is a cast, too.
      const types = isRead ? [...new Set([...statement.types, ...functions])] : [];
      const operators = isRead ? statement.operators.filter((name) => !isAllowed({ name })) : [];
      await learn({ functions, types, operators }, lookUp);
      const found = unsettled.find(({ form, name }) => isVolatile(`${form} ${name}`));
      if (found) throw refuse(found, rules, VOLATILE);
      const cast = types.find((name) => isVolatile(`type ${name}`));
      if (cast !== undefined) throw refuseCast(cast, rules);
      const operator = operators.find((name) => isVolatile(`operator ${name}`));
      if (operator !== undefined) throw refuseOperator(operator, rules);
    },
  };
}

const DANGEROUS =
  'It locks, signals, reads files, opens connections or changes state, so allowFunctions does not permit it either. Leave it out.';
const LIFTABLE =
  'It waits or runs SQL text that is not checked. Leave it out, or have the operator add it to allowFunctions.';
const VOLATILE =
  'It is volatile: it may change something. Leave it out, or have the operator add it to allowFunctions.';

function refuse({ name, at }: FunctionUse, rules: StatementRules, reason: string): DatabaseFailure {
  const place = at === undefined ? '' : ` (${describePosition(rules.sql, at)})`;
  const text = `The function ${quote(name)}${place} is not permitted for ${describeAccess(rules)} on the connection "${rules.connection}". ${reason}`;
  return new DatabaseFailure('STATEMENT_REFUSED', text);
}

function refuseCast(type: string, rules: StatementRules): DatabaseFailure {
  const text = `A cast of the type ${quote(type)} is not permitted for ${describeAccess(rules)} on the connection "${rules.connection}": it calls a volatile function. Leave it out.`;
  return new DatabaseFailure('STATEMENT_REFUSED', text);
}

function refuseOperator(name: string, rules: StatementRules): DatabaseFailure {
  const text = `The operator ${quote(name)} is not permitted for ${describeAccess(rules)} on the connection "${rules.connection}": it calls a volatile function. Leave it out, or have the operator of Heddle add it to allowFunctions.`;
  return new DatabaseFailure('STATEMENT_REFUSED', text);
}
