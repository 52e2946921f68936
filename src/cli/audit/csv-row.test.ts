import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { csvCell, csvHead, csvRow } from './csv-row.ts';

for (const text of ['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '|cmd', '%x', '＝1']) {
  verifies('G11', `an export neutralises the formula ${JSON.stringify(text)}`, () => {
    expect(csvCell(text)).toMatch(/^"'/);
  });
}

verifies('G11', 'an export keeps a record on one line, whatever its text', () => {
  const place = {
    segment: 's',
    sequence: 1,
    hash: 'h',
    callId: 'c',
    phase: 'outcome',
    at: 0,
    caller: 'ada',
    via: 'cli',
  };
  const hostile = 'a\r\nb\u2028c\u0085d"e,f\u001b[31m\u202eg';
  const row = csvRow({ ...place, name: hostile, detail: { text: hostile } });
  for (const character of '\r\n\u2028\u0085\u001b\u202e') expect(row).not.toContain(character);
  expect(row.split('","')).toHaveLength(csvHead().split(',').length);
  expect(row.startsWith('"1970-01-01T00:00:00.000Z","s","1","h","","c","outcome","ada","cli","a')).toBe(true);
});

it('leaves ordinary text unchanged', () => {
  expect(csvCell('mcp__demo__echo')).toBe('"mcp__demo__echo"');
  expect(csvCell('say "hi"')).toBe('"say ""hi"""');
});
