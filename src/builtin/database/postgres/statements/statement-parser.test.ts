import { expect } from 'vitest';
import { verifies } from '../../../../../test/requirements.ts';
import { parsePostgres } from './parse-postgres.ts';

// One instance of the parser fails for ever after 29 such statements.
const ROUNDS = process.env.HEDDLE_TEST_SCALE === 'full' ? 40 : 2;

const parse = (sql: string) => parsePostgres(sql, 'main');

verifies('B2', 'a statement that overflows the parser breaks no other statement', async () => {
  const deep = { code: 'INPUT_INVALID', message: 'The statement is nested too deeply. Split it.' };
  const plain = await parse('SELECT 1');
  for (let round = 0; round < ROUNDS; round++) {
    const [sum, second, brackets, fourth] = await Promise.allSettled([
      parse(`SELECT ${'1+'.repeat(45_000)}1`),
      parse('SELECT 1'),
      parse(`SELECT ${'('.repeat(20_000)}`),
      parse('DELETE FROM t'),
    ]);
    expect(sum).toMatchObject({ reason: deep });
    expect(second).toEqual({ status: 'fulfilled', value: plain });
    expect(brackets).toMatchObject({ reason: deep });
    expect(fourth).toMatchObject({ value: [{ stmt: { DeleteStmt: {} } }] });
  }
  await expect(parse('SELECT FROM WHERE')).rejects.toMatchObject({ code: 'STATEMENT_FAILED' });
});
