import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { HttpExchange } from '../../src/upstream/transports/http-exchange.ts';
import { lineFramer } from '../../src/wire/line-framer.ts';
import { verifies } from '../requirements.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const MIB = 1024 * 1024;

function usedBytes(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Measures the cost of receiving 1 MiB of JSON, one byte at a time, before its end. */
function costOf(push: (piece: Buffer) => void): number {
  const before = usedBytes();
  push(Buffer.from('"'));
  for (let n = 0; n < MIB; n++) push(Buffer.from('x'));
  const cost = usedBytes() - before;
  push(Buffer.from('"'));
  return cost;
}

verifies('F3', 'buffers a line of 1 MiB that arrives byte by byte in less than 4 MiB', () => {
  const lines: string[] = [];
  const push = lineFramer({ maxLineBytes: 2 * MIB, onLine: (line) => lines.push(line), onOversized: () => {} });
  expect(costOf(push)).toBeLessThan(4 * MIB);
  push(Buffer.from('\n'));
  expect(lines).toEqual([`"${'x'.repeat(MIB)}"`]);
});

verifies('F3', 'buffers an HTTP body of 1 MiB that arrives byte by byte in less than 4 MiB', () => {
  const messages: unknown[] = [];
  const exchange = new HttpExchange({
    server: 'demo',
    maxMessageBytes: 2 * MIB,
    onMessage: (message) => messages.push(message),
  });
  exchange.onResponseStart(undefined, 200, { 'content-type': 'application/json' });
  expect(costOf((piece) => exchange.onResponseData(undefined as never, piece))).toBeLessThan(4 * MIB);
  exchange.onResponseEnd();
  expect(messages).toEqual(['x'.repeat(MIB)]);
});
