import fc from 'fast-check';
import { expect, it } from 'vitest';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import { lineFramer } from './line-framer.ts';

function framer(maxLineBytes: number) {
  const lines: string[] = [];
  const oversized: [number, string, string][] = [];
  const push = lineFramer({
    maxLineBytes,
    onLine: (line) => lines.push(line),
    onOversized: (bytes, [head, tail]) => oversized.push([bytes, head, tail]),
  });
  return { lines, oversized, push };
}

/** The bytes in pieces, each in memory of its own as they come from a pipe. */
function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  return edges.slice(1).map((end, index) => Buffer.from(bytes.subarray(edges[index], end)));
}

verifies('F3', 'cuts the same lines however the bytes arrive, half characters included', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é', '✓', '😀'), maxLength: 40, size: 'max' });
  fc.assert(
    fc.property(text, fc.array(fc.nat(), { maxLength: 10 }), (written, cuts) => {
      const { lines, push } = framer(1000);
      for (const piece of pieces(Buffer.from(`${written}\n`), cuts)) push(piece);
      expect(lines).toEqual(written.split('\n').filter((line) => line !== ''));
    }),
  );
});

verifies('F3', 'reports each line over the limit and goes on with the next', () => {
  const line = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 20, size: 'max' });
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(), { maxLength: 10 }), (written, cuts) => {
      const { lines, oversized, push } = framer(10);
      for (const piece of pieces(Buffer.from(written.map((one) => `${one}\n`).join('')), cuts)) push(piece);
      expect(lines).toEqual(written.filter(({ length }) => length > 0 && length <= 10));
      expect(oversized.map(([bytes]) => bytes)).toEqual(written.map(({ length }) => length).filter((all) => all > 10));
    }),
  );
});

it('keeps the two edges of a line that is too long, without copying the rest', () => {
  const { oversized, lines, push } = framer(1024);
  push(Buffer.from(`{"id":1,${'x'.repeat(600)}`));
  for (let n = 0; n < 100; n++) push(Buffer.from('y'.repeat(65_536)));
  push(Buffer.from(`${'z'.repeat(600)},"id":7}\nnext\n`));
  const [bytes, head, tail] = oversized[0] ?? [0, '', ''];
  expect(bytes).toBe(608 + 100 * 65_536 + 608);
  expect([head.length, head.slice(0, 9), tail.length, tail.slice(-8)]).toEqual([512, '{"id":1,x', 512, ',"id":7}']);
  expect(lines).toEqual(['next']);
});

it('takes time in proportion to a line that comes in many pieces', async () => {
  const { lines, push } = framer(64 * 1024 * 1024);
  const piece = Buffer.from('x'.repeat(100));
  // Searching again what is held would take minutes.
  await within(2000, () => {
    for (let n = 0; n < 100_000; n++) push(piece);
    push(Buffer.from('\n'));
  });
  expect(lines[0]).toHaveLength(10_000_000);
});
