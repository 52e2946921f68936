import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { gatheredBytes } from './gathered-bytes.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const MIB = 1024 * 1024;

function heldBytes(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

verifies('F3', 'holds what comes byte by byte in little more memory than the bytes take', () => {
  const gathered = gatheredBytes();
  const before = heldBytes();
  for (let n = 0; n < MIB; n++) gathered.add(Buffer.from([n % 256]));
  expect(heldBytes() - before).toBeLessThan(8 * MIB);
  expect(gathered.length).toBe(MIB);
  const whole = gathered.take();
  expect(whole).toHaveLength(MIB);
  expect(whole.every((byte, n) => byte === n % 256)).toBe(true);
});

it('gives back a single piece as it came, and begins anew', () => {
  const gathered = gatheredBytes();
  const piece = Buffer.from('whole');
  gathered.add(piece);
  expect(gathered.take()).toBe(piece);
  expect([gathered.length, gathered.take().length]).toEqual([0, 0]);
});
