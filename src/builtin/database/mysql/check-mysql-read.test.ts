import { describe, expect } from 'vitest';
import { within } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import { checkMysqlPlan, checkMysqlRead } from './check-mysql-read.ts';
import type { MysqlRules } from './split-mysql-statement.ts';

const RULES: MysqlRules = {
  connection: 'shop',
  access: 'read',
  allowDdl: false,
  allowFunctions: new Set(['SHOP.PRICE_OF', 'DISCOUNT']),
  storedFunctions: new Set(),
  mode: { ansiQuotes: false, noBackslashEscapes: false },
};
const ANSI = { ...RULES, mode: { ansiQuotes: true, noBackslashEscapes: false } };
const RAW = { ...RULES, mode: { ansiQuotes: false, noBackslashEscapes: true } };

function refusal(sql: string, rules = RULES): string | undefined {
  try {
    checkMysqlRead(sql, rules);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the check of reading statements', () => {
  verifies('B2', 'names the construct, its place and the access of the connection', () => {
    expect(refusal('SELECT 1 INTO @a')).toBe(
      'The statement is not permitted: it has INTO (character 10). The connection "shop" has access "read": send one SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, CHECKSUM or EXPLAIN.',
    );
  });

  verifies('B2', 'takes strings, quoted names and members for what they are', () => {
    const permitted = [
      "SELECT 'Sleep(1)', \"INTO OUTFILE '/x'\", 'a''b', 'a\\'; DROP TABLE t; -- '",
      'SELECT `delete`, t.delete, t.into, `into` FROM `update` t',
      "SELECT '/*! not a comment */', '-- neither', '# nor this'",
      "SELECT _utf8mb4'x', N'y', x'41', b'1', 0x41, 0b1, 1.5e3, .5, 1e-3",
      'SELECT 1 -- Sleep(1)\n, 2 # INTO OUTFILE\n, 3 /* FOR UPDATE */',
      'SELECT 5--1',
      '((SELECT 1)) UNION (SELECT 2);',
      'SELECT @@version, @a',
    ];
    expect(permitted.map((sql) => refusal(sql))).toEqual(permitted.map(() => undefined));
    expect(refusal('SELECT "into", "a\\" FROM t', ANSI)).toBeUndefined();
    expect(refusal("SELECT 'a\\', 'b'", RAW)).toBeUndefined();
  });

  verifies('B2', 'marks SHOW GRANTS after each prefix, so that hashes of passwords are hidden', () => {
    const shows = [
      'SHOW GRANTS',
      'show full grants',
      'SHOW SESSION FULL GRANTS FOR ada',
      '/* a */ SHOW EXTENDED GRANTS',
    ];
    expect(shows.map((sql) => checkMysqlRead(sql, RULES).showsGrants)).toEqual(shows.map(() => true));
    for (const sql of ['SHOW FULL TABLES', 'SHOW TABLES FROM grants', 'SELECT 1 AS grants']) {
      expect(checkMysqlRead(sql, RULES).showsGrants).toBe(false);
    }
  });

  verifies('B2', 'reads quotes as the mode of the session does', () => {
    // A backslash escapes the quote, or it does not: the same text has INTO inside or outside of a string.
    const sql = "SELECT 'a\\' INTO OUTFILE \\'/tmp/x'";
    expect(refusal(sql)).toBeUndefined();
    expect(refusal("SELECT 'a\\' INTO OUTFILE '/tmp/x'", RAW)).toContain('INTO');
    expect(refusal('SELECT "a\\" INTO OUTFILE \'/tmp/x\' -- "', ANSI)).toContain('INTO');
    expect(refusal('SELECT "a\\" INTO OUTFILE \'/tmp/x\' -- "')).toBeUndefined();
  });

  verifies('B2', 'ends numbers and NULL where servers end them', () => {
    for (const sql of ["SELECT 1e1into outfile '/x'", "SELECT 1.into outfile '/x'", "SELECT .5into outfile '/x'"]) {
      expect(refusal(sql)).toContain('INTO');
    }
    // Only directly after the dot is a word the name of a member.
    expect(refusal("SELECT t. INTO OUTFILE '/x'")).toContain('INTO');
    expect(refusal("SELECT \\Ninto outfile '/x'")).toContain('a backslash outside of strings');
  });

  verifies('B2', 'permits stored functions only by allowFunctions, and dangerous ones never', () => {
    expect(refusal('SELECT shop.price_of(1), discount(2)')).toBeUndefined();
    expect(refusal('SELECT shop.other(1)')).toContain('allowFunctions');
    expect(refusal('SELECT `count`(1)')).toContain('allowFunctions');
    expect(refusal('SELECT shop.count(1)')).toContain('allowFunctions');
    expect(refusal('SELECT 2count(1)')).toContain('allowFunctions');
    const sleeping = { ...RULES, allowFunctions: new Set(['SLEEP']) };
    expect(refusal('SELECT Sleep(1)', sleeping)).toContain('the function "SLEEP"');
  });

  verifies('B2', 'finds the verb after WITH, whatever the expressions are named', () => {
    const named = [
      'WITH replace AS (SELECT 1) SELECT 1',
      'WITH RECURSIVE a AS (SELECT 1), replace (x) AS (TABLE a) TABLE a',
    ];
    for (const sql of [...named, '(WITH a AS (SELECT 1) SELECT * FROM a)', 'WITH a AS (SELECT 1) VALUES (1)']) {
      expect(refusal(sql)).toBeUndefined();
    }
    for (const sql of ['WITH replace AS (SELECT 1) DELETE FROM t', '(WITH a AS (SELECT 1) DELETE FROM t)']) {
      expect(refusal(sql)).toContain('WITH … DELETE');
    }
    for (const sql of ['WITH DELETE FROM t', 'WITH a AS (SELECT 1)', 'WITH a AS (SELECT 1), replace AS x']) {
      expect(refusal(sql)).toContain('WITH …');
    }
  });

  verifies('B2', 'permits EXPLAIN of tables, queries and changes, and ANALYZE of queries', () => {
    const plans = ['EXPLAIN t', 'DESCRIBE s.t', "DESC t 'a%'", 'DESC t a', 'DESCRIBE s.select', 'DESC `select`'];
    const options = ['EXPLAIN ANALYZE FORMAT=TREE SELECT 1', 'EXPLAIN FORMAT=JSON SELECT 1', 'DESCRIBE format'];
    for (const sql of [...plans, ...options, 'EXPLAIN FOR CONNECTION 5', 'EXPLAIN FORMAT=JSON TABLE t']) {
      expect(checkMysqlRead(sql, RULES)).toMatchObject({ plansChange: false });
    }
    for (const sql of [
      'EXPLAIN DELETE FROM t',
      "DESC FORMAT='json' REPLACE t SET a = 1",
      'EXPLAIN WITH a AS (TABLE b) DELETE FROM t',
    ]) {
      expect(checkMysqlRead(sql, RULES)).toMatchObject({ plansChange: true });
    }
    for (const sql of ['DELETE FROM t', 'UPDATE t SET a = 1']) {
      expect(checkMysqlPlan(sql, RULES)).toMatchObject({ plansChange: true });
    }
    for (const sql of [
      'EXPLAIN (DELETE FROM t)',
      'EXPLAIN FOR CONNECTION 5 x',
      'EXPLAIN a b c',
      'EXPLAIN',
      'DESC set a',
    ]) {
      expect(refusal(sql)).toContain('is not permitted');
    }
    // A stored function of this name would run.
    expect(
      refusal('EXPLAIN UPDATE t SET a = any_value(1)', { ...RULES, storedFunctions: new Set(['ANY_VALUE']) }),
    ).toContain('the stored function "ANY_VALUE", which EXPLAIN may run');
  });

  verifies('B2', 'refuses no, long, NUL and several statements in one sentence', () => {
    expect(refusal(' -- nothing\n ; ')).toBe('The statement is empty. Send one SQL statement.');
    expect(refusal(`SELECT '${'x'.repeat(1_000_000)}'`)).toBe(
      'The statement is longer than 100 KB. Send a shorter one.',
    );
    expect(refusal('SELECT 1\0')).toBe('The statement has a NUL character. Pass such values as params.');
    expect(refusal('SELECT 1; DROP TABLE t')).toContain('it has a second statement (character 11)');
    expect(refusal('SELECT 1;;')).toContain('a second statement');
  });

  verifies('B2', 'takes linear time on long hostile statements', async () => {
    const nested = `${'c ('.repeat(7000)}1${') AS ('.repeat(7000)}`;
    for (const part of ['(', "'", '/*', 'a.', '`', 'f(', '@', '--', "''", nested]) {
      const sql = `SELECT ${part.repeat(Math.floor(100_000 / part.length))}`;
      await within(500, () => refusal(sql));
    }
  });
});
