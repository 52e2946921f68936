import { describe, expect } from 'vitest';
import { verifies } from '../../../../../test/requirements.ts';
import { checkPostgresStatement } from './check-postgres-statement.ts';
import { functionCheck, type LookUpVolatile, refuseDangerous } from './function-check.ts';
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
        'Send one SELECT, WITH, VALUES, TABLE, SHOW or EXPLAIN without ANALYZE.',
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
    const attributes = functions.filter(({ isAttribute }) => isAttribute).map(({ name }) => name);
    expect(attributes.toSorted()).toEqual(['f1', 'f2', 'f3', 'f4']);
    expect(functions.find(({ name }) => name === 'f7')).toMatchObject({ schema: 's' });
    expect(types.toSorted()).toEqual(['t1', 't2']);
    expect(params).toBe(3);
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
    const lookUp: LookUpVolatile = async (functions) => {
      asked.push(functions);
      const found = functions.filter((name) => names.includes(name));
      return { functions: found, attributes: found, types: [] };
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

  verifies(
    'B2',
    'lets allowed volatile functions pass by name or by schema and name, dangerous ones never',
    async () => {
      const { lookUp } = volatileNames('mine', 'other', 'random');
      const functions = functionCheck(['mine', 'app.Other', 'pg_sleep']);
      const run = async (sql: string) => functions.check(await check(sql), rulesOf(sql), lookUp);
      await run('SELECT mine(), x.mine(), app.other(), random()');
      await expect(run('SELECT other()')).rejects.toThrow('allowFunctions');
      await expect(run('SELECT pg_sleep(1)')).rejects.toThrow('"pg_sleep"');
    },
  );
});
