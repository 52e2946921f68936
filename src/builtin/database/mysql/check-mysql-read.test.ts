import { describe, expect } from 'vitest';
import { within } from '../../../../test/limits.ts';
import { verifies } from '../../../../test/requirements.ts';
import { checkMysqlRead } from './check-mysql-read.ts';
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
      'The statement is not permitted: it has INTO (character 10). The connection "shop" has access "read": send one SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE or EXPLAIN without ANALYZE.',
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
