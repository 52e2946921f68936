import { describe, expect } from 'vitest';
import { verifies } from '../../../../../test/requirements.ts';
import { checkPostgresStatement } from './check-postgres-statement.ts';
import { functionAllower, functionCheck, type LookUpVolatile, refuseDangerous } from './function-check.ts';
import { parsePostgres } from './parse-postgres.ts';
import type { StatementRules } from './refusal.ts';

const rulesOf = (sql: string, change: Partial<StatementRules> = {}): StatementRules => ({
  ...{ sql, connection: 'main', access: 'read', allowDdl: false },
  ...change,
});

async function check(sql: string, change: Partial<StatementRules> = {}) {
  const rules = rulesOf(sql, change);
  const checked = checkPostgresStatement(await parsePostgres(sql, 'main'), rules);
  refuseDangerous(checked, rules);
  return checked;
}

describe('the check of a Postgres statement', () => {
  verifies('B2', 'refuses a node that it does not know, named or not, wherever it is', () => {
    const select = (content: object) => [{ stmt: { SelectStmt: content } }] as never;
    const rules = rulesOf('SELECT 1');
    expect(() => checkPostgresStatement(select({ targetList: [{ FutureExpr: { location: 7 } }] }), rules)).toThrow(
      'FUTURE EXPR (line 1, column 8) is not permitted for reading on the connection "main"',
    );
    expect(() => checkPostgresStatement(select({ futureClause: { a: 1 } }), rules)).toThrow('FUTURE CLAUSE');
    expect(() => checkPostgresStatement(select({ larg: { intoClause: { rel: { relname: 'x' } } } }), rules)).toThrow(
      'INTO',
    );
    expect(() => checkPostgresStatement([{ stmt: { FutureStmt: { a: 1 } } }] as never, rules)).toThrow(
      'FUTURE (line 1',
    );
  });

  verifies('B2', 'names construct, position, access and what to send instead', async () => {
    await expect(check('SELECT 1;\nDELETE FROM t')).rejects.toMatchObject({
      code: 'STATEMENT_REFUSED',
      message:
        'A second statement (line 2, column 1) is not permitted for reading on the connection "main". ' +
        'Send one SELECT, WITH, VALUES, TABLE, SHOW or EXPLAIN.',
    });
    await expect(check('DROP TABLE t', { access: 'write' })).rejects.toThrow(
      'DROP (line 1, column 1) is not permitted for writing on the connection "main". Send one INSERT, UPDATE, DELETE or MERGE.',
    );
    await expect(check('DROP ROLE r', { access: 'write', allowDdl: true })).rejects.toThrow(
      'DROP ROLE (line 1, column 1) is not permitted for writing with allowDdl',
    );
    await expect(check('SELECT a,\n  pg_sleep(1)')).rejects.toThrow('The function "pg_sleep" (line 2, column 3)');
  });

  verifies('B2', 'finds functions however they are called, types and parameters', async () => {
    const sql = `SELECT a.f1, (b).f2, ((c).f3).f4, f5(x => f6()), s.f7(*) OVER (ORDER BY f8(1)), d::t1, t2 'x', $3 + $1
      FROM f9() JOIN LATERAL f10(a) ON true WHERE e IN (SELECT f11() FROM g) LIMIT f12()`;
    const { functions, types, params } = await check(sql);
    const names = functions.map(({ name }) => name);
    expect(new Set(names)).toEqual(new Set(Array.from({ length: 12 }, (_, at) => `f${at + 1}`)));
    const named = (form: string) => functions.flatMap((use) => (use.form === form ? [use.name] : [])).toSorted();
    expect(named('row')).toEqual(['f1']);
    expect(named('value')).toEqual(['f2', 'f3', 'f4']);
    expect(functions.find(({ name }) => name === 'f7')).toMatchObject({ schema: 's' });
    expect(types.toSorted()).toEqual(['t1', 't2']);
    expect(params).toBe(3);
  });

  verifies('B2', 'takes the field of a function in FROM for a call, whatever the function is named', async () => {
    for (const from of [
      'f(0) g',
      'lateral f(0) as g',
      's.g(0)',
      'rows from (g(1), f(2))',
      'current_date',
      'cast(0 as x) g',
    ]) {
      expect((await check(`SELECT t.a, g.named FROM t, ${from}`)).functions).toContainEqual(
        expect.objectContaining({ name: 'named', form: 'value' }),
      );
      await expect(check(`SELECT g.pg_sleep FROM ${from}`)).rejects.toThrow('"pg_sleep"');
    }
    expect((await check('SELECT t.a, t.pg_sleep FROM t, f(0) g')).functions).toContainEqual(
      expect.objectContaining({ name: 'pg_sleep', form: 'row' }),
    );
  });

  verifies('B2', 'takes keywords of newer versions for functions, which an older server would call', async () => {
    const names = ['json_query', 'json_value', 'json_exists', 'json_scalar', 'json_serialize', 'json'];
    for (const name of [...names, 'json_array', 'json_object', 'json_arrayagg']) {
      const one = name === 'json_object' ? "'a': 1" : "'{}'";
      const sql = `SELECT ${name}(${name.match(/query|value|exists/) ? "'{}', '$'" : one})`;
      expect((await check(sql)).functions, sql).toContainEqual({ name, at: 7, form: 'call' });
    }
  });

  verifies('B2', 'finds operators wherever they are', async () => {
    const sql = `SELECT 1 ==> 2, 1 OPERATOR(s.<==) 2, @@@ 3, 1 === ANY (ARRAY[1]), 1 |=| ALL (SELECT 1)
      FROM t WHERE a LIKE 'b' ORDER BY a USING <<<`;
    expect((await check(sql)).operators.toSorted()).toEqual(
      ['<<<', '<==', '===', '==>', '@@@', '|=|', '~~'].toSorted(),
    );
  });

  verifies('B2', 'takes EXPLAIN for a plan unless ANALYZE is on, in every form of the option', async () => {
    const off = ['analyze false', 'ANALYZE off', 'analyze 0', "timing 'off'", 'wal false, costs', 'debug off'];
    for (const option of off) {
      expect(await check(`EXPLAIN (${option}) SELECT 1`)).toMatchObject({ kind: 'explain', isPlan: true });
      expect(await check(`EXPLAIN (${option}) DELETE FROM t`)).toMatchObject({ kind: 'explain', isPlan: true });
    }
    const on = ['analyze', 'analyze true', 'analyze 1', 'analyze on', "analyze 'TRUE'", 'analyze x', 'wal, analyze'];
    for (const option of [...on, 'analyze false, analyze', 'analyze, analyze off', 'analyse', 'timing, analyze 2']) {
      expect(await check(`EXPLAIN (${option}) SELECT 1`)).toMatchObject({ kind: 'explain', isPlan: false });
      await expect(check(`EXPLAIN (${option}) DELETE FROM t`)).rejects.toThrow('EXPLAIN ANALYZE of DELETE');
      await expect(check(`EXPLAIN (${option}) SELECT 1`, { access: 'plan' })).rejects.toThrow('EXPLAIN with ANALYZE');
    }
    for (const option of ['debug', '"ANALYZE"', 'range_table']) {
      await expect(check(`EXPLAIN (${option}) SELECT 1`)).rejects.toThrow('EXPLAIN with ');
    }
  });

  verifies('B2', 'permits changes in plans, and in no statement that runs', async () => {
    const changes = [
      ...['DELETE FROM t', 'UPDATE t SET a = nextval($1)', 'INSERT INTO t VALUES (DEFAULT) ON CONFLICT DO NOTHING'],
      ...['MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE', 'SELECT * FROM t FOR UPDATE'],
      ...['WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a', 'WITH a AS (SELECT 1) INSERT INTO t TABLE a'],
    ];
    for (const sql of changes) {
      expect(await check(sql, { access: 'plan' })).toMatchObject({ isPlan: true });
      expect(await check(`EXPLAIN ${sql}`, { access: 'plan' })).toMatchObject({ isPlan: true });
      expect(await check(`EXPLAIN VERBOSE ${sql}`)).toMatchObject({ isPlan: true });
      await expect(check(sql)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await expect(check(`EXPLAIN ANALYZE ${sql}`)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await expect(check(`EXPLAIN ANALYZE VERBOSE ${sql}`)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
    for (const sql of [
      'CREATE TABLE t2 AS SELECT 1',
      'SELECT 1 INTO t2',
      'EXECUTE p',
      'DECLARE c CURSOR FOR SELECT 1',
    ]) {
      await expect(check(`EXPLAIN ${sql}`)).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
      await expect(check(sql, { access: 'plan' })).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    }
    await expect(check('DROP TABLE t', { access: 'plan' })).rejects.toThrow(
      'DROP (line 1, column 1) is not permitted for a plan on the connection "main". ' +
        'Send one SELECT, WITH, VALUES, TABLE, INSERT, UPDATE, DELETE or MERGE.',
    );
    // Planning calls functions that are stable by their label.
    for (const name of ['query_to_xml', 'pg_advisory_lock', 'txid_current', 'pg_sleep']) {
      await expect(check(`SELECT ${name}(1)`, { access: 'plan' })).rejects.toThrow(`"${name}"`);
    }
  });

  verifies('B2', 'refuses temporary tables, views and sequences, and changes of settings', async () => {
    const write = { access: 'write', allowDdl: true } as const;
    for (const sql of [
      ...['CREATE TEMP TABLE t (a int)', 'CREATE TEMPORARY TABLE t AS SELECT 1', 'CREATE TEMP VIEW v AS SELECT 1'],
      ...['CREATE TEMP SEQUENCE s', 'CREATE LOCAL TEMP TABLE t (a int)'],
    ]) {
      await expect(check(sql, write)).rejects.toThrow('CREATE TEMPORARY, which ends with the call, (line 1, column 1)');
    }
    await expect(check("UPDATE pg_catalog.pg_settings SET setting = 'x'", write)).rejects.toThrow(
      'UPDATE of pg_settings',
    );
  });

  verifies('B2', 'walks a tree as deep as the longest statement without overflowing', async () => {
    const sql = `SELECT ${'1+'.repeat(1_500)}bump()`;
    expect((await check(sql)).functions).toMatchObject([{ name: 'bump' }]);
    const deepest = { SelectStmt: { whereClause: nested(60_000) } };
    expect(checkPostgresStatement([{ stmt: deepest }] as never, rulesOf(sql)).kind).toBe('select');
  });

  const nested = (depth: number): object => {
    let tree: object = {};
    for (let at = 0; at < depth; at++) tree = { A_Expr: { lexpr: tree } };
    return tree;
  };
});

describe('the check of functions', () => {
  const volatileNames = (...names: readonly string[]): { lookUp: LookUpVolatile; asked: (readonly string[])[] } => {
    const asked: (readonly string[])[] = [];
    const lookUp: LookUpVolatile = async ({ functions, operators }) => {
      asked.push(functions);
      const found = functions.filter((name) => names.includes(name));
      const isVolatile = (name: string) => names.includes(name);
      return { functions: found, ofValues: found, ofRows: found, types: [], operators: operators.filter(isVolatile) };
    };
    return { lookUp, asked };
  };

  verifies('B2', 'looks each name up once in a minute', async () => {
    let now = 0;
    const functions = functionCheck([], () => now);
    const { lookUp, asked } = volatileNames('mine');
    const run = async (sql: string) => functions.check(await check(sql), rulesOf(sql), lookUp);
    await run('SELECT lower(a), upper(b)');
    await run('SELECT upper(b)');
    await expect(run('SELECT upper(mine())')).rejects.toThrow('The function "mine" (line 1, column 14)');
    await expect(run('SELECT mine()')).rejects.toMatchObject({ code: 'STATEMENT_REFUSED' });
    expect(asked).toEqual([['lower', 'upper'], ['mine']]);
    now = 61_000;
    await run('SELECT upper(b)');
    expect(asked).toHaveLength(3);
  });

  verifies('B2', 'lets allowed volatile functions and operators pass by name or by schema and name', async () => {
    const { lookUp } = volatileNames('mine', 'other', 'random', '===', '<==');
    const functions = functionCheck(['mine', 'app.Other', '===']);
    const run = async (sql: string) => functions.check(await check(sql), rulesOf(sql), lookUp);
    await run('SELECT mine(), x.mine(), app.other(), random(), 1 === 2');
    await expect(run('SELECT other()')).rejects.toThrow('allowFunctions');
    await expect(run('SELECT 1 <== 2')).rejects.toThrow('The operator "<==" is not permitted for reading');
  });

  verifies('B2', 'permits a dangerous function by the configuration only if it waits or runs SQL text', async () => {
    const names = ['pg_sleep', 'crosstab', 'query_to_xml', 'dblink', 'pg_read_file', 'pg_advisory_lock', 'lo_export'];
    const isAllowed = functionAllower(names);
    const run = async (name: string, test?: typeof isAllowed) => {
      const sql = `SELECT * FROM ${name}('x')`;
      const rules = rulesOf(sql);
      refuseDangerous(checkPostgresStatement(await parsePostgres(sql, 'main'), rules), rules, test);
    };
    for (const name of names.slice(0, 3)) {
      await run(name, isAllowed);
      await expect(run(name)).rejects.toThrow('have the operator add it to allowFunctions');
    }
    for (const name of names.slice(3)) {
      await expect(run(name, isAllowed)).rejects.toThrow('allowFunctions does not permit it either');
    }
  });

  verifies('B2', 'checks a dangerous name of a field by the catalog, also in a statement for writing', async () => {
    const sql = 'UPDATE t SET a = r.http FROM r';
    const rules = rulesOf(sql, { access: 'write' });
    const checked = await check(sql, rules);
    await functionCheck([]).check(checked, rules, volatileNames().lookUp);
    await expect(functionCheck([]).check(checked, rules, volatileNames('http').lookUp)).rejects.toThrow('"http"');
    const { lookUp, asked } = volatileNames('a');
    const plain = 'UPDATE t SET a = r.a FROM r';
    await functionCheck([]).check(await check(plain, rules), rules, lookUp);
    expect(asked).toEqual([]);
  });
});
