import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Config } from '../../config/config.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { advised, withRuleLocation } from './explain-call-error.ts';

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

verifies('G3', 'names the place of the policy or hook that decided', () => {
  const at = (line: number) => ({ file: 'main.yaml', line, column: 1 });
  const origins = new Map([
    ['policies', { scope: 'project', at: at(2), shadowed: [] }],
    ['hooks.beforeCall', { scope: 'project', at: at(30), shadowed: [] }],
  ]) as Config['origins'];
  const policies = ['first', 'large: sum'].map((name, index) => ({
    name,
    at: at(2 + index * 5),
  })) as unknown as Config['policies'];
  const fixFor = (rule: string) =>
    withRuleLocation(new HeddleError('PERMISSION_DENIED', 'No.', { fix: 'Ask.', details: { rule } }), {
      origins,
      ...(policies && { policies }),
    }).fix;
  expect(fixFor('policies: large: sum')).toBe('Ask. The rule is in main.yaml:7.');
  expect(fixFor('hooks.beforeCall (check.sh)')).toBe('Ask. The rule is in main.yaml:30.');
});
