import { Writable } from 'node:stream';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { batchWriter } from './export-audit.ts';

verifies('G11', 'ends without an error when the reader of an export closes the pipe', async () => {
  const brokenPipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const out = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => setImmediate(done, brokenPipe) });
  const { write, closed } = batchWriter(out);
  await write(['one', 'two']);
  expect(closed.aborted).toBe(true);
  await write(['three']);
});
