import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from '../core/call.ts';
import { compileExpression } from './compile-expression.ts';
import { conditionValues } from './fixtures.ts';
import { unknownValue } from './unknown-value.ts';
import { compileValueExpression } from './value-expression.ts';

function result(source: string, p: unknown, more: Readonly<Record<string, Json>> = {}): unknown {
  const condition = compileExpression(source);
  if (!('evaluate' in condition)) throw new Error(`${source}: ${condition.message}`);
  return condition.evaluate(conditionValues({ p: p as Json, ...more }));
}

const inside = (p: unknown, folder = '/team') => result(`path.inside(args.p, ${JSON.stringify(folder)})`, p);
const failure = (text: string) => ({ failure: expect.stringContaining(text) });

describe('path.inside', () => {
  verifies('G3', 'compares normalised paths: the folder itself and what is below it are inside', () => {
    for (const p of [
      '/team',
      '/team/',
      '/team/a',
      '/team//a/./b',
      '/team/a/../b',
      '/x/../team/a',
      '/team/..a',
      '/team/a..',
    ])
      expect(inside(p), p).toBe(true);
    for (const p of ['/', '/teams', '/team-evil/a', '/team/../etc/passwd', '/team/a/../../etc', '/../etc', '/a/team'])
      expect(inside(p), p).toBe(false);
    expect(inside('/etc/passwd', '/')).toBe(true);
    expect(inside('/team/a', '/team/')).toBe(true);
    expect(inside('/team/报告：最终.md')).toBe(true);
    expect(inside('/team/100%.txt')).toBe(true);
  });

  verifies('G3', 'fails for a path that another program may read as another one, inside or not', () => {
    const doubtful: readonly [unknown, string][] = [
      [7, 'not a text'],
      [null, 'not a text'],
      [['/team/a'], 'not a text'],
      ['', 'not absolute'],
      ['team/a', 'not absolute'],
      ['../etc', 'not absolute'],
      [' /team/a', 'not absolute'],
      ['~/a', 'not absolute'],
      ['file:///team/a', 'not absolute'],
      ['C:\\team\\a', 'not absolute'],
      ['//team/a', 'not absolute'],
      ['/team/a\u0000/../../etc', 'control character'],
      ['/team/a\n', 'control character'],
      ['/team\\..\\etc', 'backslash'],
      ['/team/＼etc', 'backslash'],
      ['/team/%2e%2e/etc', 'percent-encoded'],
      ['/%65tc/passwd', 'percent-encoded'],
      ['/team/．．/etc', 'looks like'],
      ['/team/․․/etc', 'looks like'],
      ['/team/.\u200b./etc', 'looks like'],
      ['/team/a／b', 'looks like'],
      ['/team/.. /etc', 'looks like'],
      ['/team/.../etc', 'looks like'],
      [`/team/${'a'.repeat(5000)}`, 'longer than'],
    ];
    for (const [p, reason] of doubtful) {
      expect(inside(p), String(p)).toEqual(failure(reason));
      expect(inside(p, '/etc'), String(p)).toEqual(failure(reason));
      expect(result('!path.inside(args.p, "/team")', p), String(p)).toEqual(failure(reason));
    }
  });

  verifies('G3', 'fails for another spelling of the folder: some file systems take both for one', () => {
    for (const p of ['/ETC/passwd', '/Etc', '/etc./passwd', '/etc /passwd', '/ｅtc/passwd', '/e\u200btc/passwd'])
      expect(inside(p, '/etc'), p).toEqual(failure('differs from the folder only'));
    expect(inside('/Caf\u0065\u0301/a', '/Caf\u00e9')).toEqual(failure('differs from the folder only'));
    expect(inside('/STRASSE/a', '/straße')).toEqual(failure('differs from the folder only'));
  });

  verifies('G3', 'reports a literal folder that is no plain absolute path, with its place', () => {
    for (const folder of [
      '',
      'team',
      '~/team',
      '/team/../x',
      '/a//b',
      '/a/./b',
      'C:\\team',
      '/a%20b',
      '/a\\b',
      '//a',
    ]) {
      expect(compileExpression(`path.inside(args.p, ${JSON.stringify(folder)})`), folder).toMatchObject({
        message: expect.stringContaining('of `path.inside` is not a plain absolute path'),
        offset: 20,
      });
    }
    const computed = 'path.inside(args.p, "/home/" + args.user)';
    expect(result(computed, '/home/ada/a', { user: 'ada' })).toBe(true);
    expect(result(computed, '/etc/passwd', { user: '../etc' })).toEqual(failure('folder of `path.inside`'));
    expect(result('path.inside(args.p, args.user)', '/a', { user: 7 })).toEqual({ failure: expect.any(String) });
  });

  verifies('G3', 'works in macros and in the expressions of workflows, and not with an unknown value', () => {
    expect(result('args.p.all(one, path.inside(one, "/team"))', ['/team/a', '/team/../b'])).toBe(false);
    expect(result('args.p.exists(one, !path.inside(one, "/team"))', ['/team/a', 'b'])).toEqual(failure('not absolute'));
    expect(result('!path.inside(args.p, "/team")', unknownValue)).toMatchObject({ isUnknown: true });
    const expression = compileValueExpression('path.inside(scope["p"], "/team")');
    expect('evaluate' in expression && expression.evaluate({ p: '/team/../b' })).toEqual({ value: false });
  });
});
