import { expect, onTestFinished, vi } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import { printError } from './print-error.ts';

/** Prints an error and returns what was written to stderr. */
function printed(error: HeddleError, json: boolean): string {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  printError(error, json);
  spy.mockRestore();
  return written.join('');
}

const hostile = '\u0001'.repeat(15_000_000);

verifies('F3', 'an error of a server is cut before it is escaped, as text and as JSON', () => {
  const details = { server: 's', rpc: { code: -32000, message: hostile } };
  const error = new HeddleError('UPSTREAM_REFUSED', hostile, { fix: 'Try again.', details });
  expect(printed(error, false).length).toBeLessThan(200_000);
  const { error: shown } = JSON.parse(printed(error, true));
  expect(shown.message).toHaveLength(20_000);
  expect(shown.details.cut).toHaveLength(20_001);
  expect(shown.details.cut).toMatch(/^\{"server":"s","rpc":\{"code":-32000,"message":"(?:\\u0001)+/);
});

verifies('L3', 'the JSON of an error has its details unchanged', () => {
  const details = { server: 's', rpc: { code: -32000, message: 'no', data: { at: 1 } } };
  const error = new HeddleError('UPSTREAM_REFUSED', 'no', { fix: 'Try again.', details });
  expect(JSON.parse(printed(error, true))).toEqual({
    error: { code: 'UPSTREAM_REFUSED', message: 'no', fix: 'Try again.', details },
  });
});
