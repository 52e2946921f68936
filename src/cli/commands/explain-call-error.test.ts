import { expect, it } from 'vitest';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { advised } from './explain-call-error.ts';

it.each<[JsonObject, string]>([
  [{ a: 1, b: 'x y', c: { d: [] }, e: null }, `a=1 b='x y' c:='{"d":[]}' e:=null`],
  [{ handle: '@ann' }, `handle='@@ann'`],
  [{ '$(reboot)': 1, 'a b': { c: 1 } }, `'$(reboot)=1' 'a b:={"c":1}'`],
  [{ 'a:b': 1 }, `--args '{"a:b":1}'`],
  [{}, 'no arguments'],
])('writes the example %j as words that a shell passes on unchanged', (example, words) => {
  const error = new HeddleError('INPUT_INVALID', 'They do not fit.', {
    fix: `Send for example ${JSON.stringify(example)}.`,
  });
  expect(advised(error, undefined).fix).toBe(`Write for example ${words}.`);
});
