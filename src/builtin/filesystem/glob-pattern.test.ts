import { matchesGlob } from 'node:path';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { hideDot, parseGlob } from './glob-pattern.ts';

const hidden = (path: string) => path.split('/').map(hideDot).join('/');
const matches = (glob: string, path: string) => RE2JS.compile(parseGlob(glob).source).matcher(hidden(path)).matches();

const CASES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['*', ['a', 'a.b'], ['.a', 'a/b']],
  ['*.ts', ['a.ts', 'a.b.ts'], ['.ts', '.a.ts', 'a.tsx', 'b/a.ts']],
  ['?', ['a', 'é', '😀'], ['ab', '.', '']],
  ['**', ['a', 'a/b/c'], ['.a', 'a/.b', '.a/b']],
  ['**/*.ts', ['a.ts', 'x/y/a.ts'], ['.x/a.ts', 'x/.a.ts']],
  ['a/**', ['a/b', 'a/b/c'], ['a', 'b/a']],
  ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/xb', 'ab']],
  ['a**b', ['ab', 'axxb'], ['a/b']],
  ['.*', ['.a', '.env'], ['a']],
  ['**/.*', ['.a', 'x/.a'], ['a', '.x/.a']],
  ['.x/**', ['.x/a'], ['.x/.a']],
  ['[a-c]', ['a', 'c'], ['d', '/', '-']],
  ['[!a-c]', ['d', '-'], ['a', '.', '/']],
  ['[^a]', ['b'], ['a']],
  ['[]a]', [']', 'a'], ['b']],
  ['[a-]', ['a', '-'], ['b']],
  ['[.]a', [], ['.a']],
  ['x[+-9]y', ['x0y', 'x+y'], ['x/y']],
  ['[z-a]', [], ['z', 'a', 'm']],
  ['[', ['['], ['a']],
  ['{a,b}.{c,d}', ['a.c', 'b.d'], ['a.e']],
  ['{a,b/{c,d}}', ['a', 'b/c', 'b/d'], ['b']],
  ['{.a,b}', ['.a', 'b'], ['a']],
  ['{,x}.a', ['.a', 'x.a'], ['y.a']],
  ['{**/,}a', ['a', 'x/a'], ['.x/a']],
  ['\\*', ['*'], ['a']],
  ['\\{a\\}', ['{a}'], ['a']],
  ['a\\', ['a\\'], ['a']],
  ['./a', ['a'], ['./a']],
  ['a+(b)|c$^', ['a+(b)|c$^'], ['aab']],
  ['a\nb*', ['a\nb', 'a\nb\n'], ['a']],
];

describe('a glob', () => {
  it.each(CASES)('%j matches exactly the paths it should', (glob, good, bad) => {
    for (const path of good) expect.soft(matches(glob, path), `${glob} ${path}`).toBe(true);
    for (const path of bad) expect.soft(matches(glob, path), `not ${glob} ${path}`).toBe(false);
  });

  it('agrees with path.matchesGlob on names without dots', () => {
    const piece = fc.constantFrom('a', 'b', '*', '?', '[ab]', '{a,b}', '/', '**/');
    const glob = fc.array(piece, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join(''));
    const path = fc.array(fc.constantFrom('a', 'b', 'ab', 'ba'), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(glob, path, (pattern, names) => {
        const isPlain = !/\/\/|^\/|\/$|[^/]\*\*|\*\*\*/.test(pattern);
        fc.pre(isPlain);
        expect(matches(pattern, names.join('/'))).toBe(matchesGlob(names.join('/'), pattern));
      }),
      { numRuns: 300 },
    );
  });

  it.each([
    ['', /is empty/],
    ['a'.repeat(1025), /1025 characters, and 1024/],
    [`{${'a,'.repeat(64)}a}`, /more than 64 alternatives/],
    ['{a', /"\{" without "\}"/],
    ['{'.repeat(600), /more than 64 alternatives|without/],
    ['*a'.repeat(65), /more than 64 of \*, \? and \[…\]\. Write a shorter one/],
    ['?'.repeat(65), /more than 64 of/],
    ['[!b]'.repeat(65), /more than 64 of/],
    ['{a,*}*'.repeat(30) + '*/'.repeat(7), /more than 64 of/],
    ['/etc/*', /begins with "\/"/],
    ['a\0', /NUL/],
    ['\ud800', /half a character/],
  ])('%j is refused with the reason', (glob, reason) => {
    expect(() => parseGlob(glob)).toThrow(reason);
  });

  it('has no part twice for a repeated **/', () => {
    for (const glob of ['**/b', 'a/**/b', '{a,**/b}', '**/**']) {
      expect(parseGlob(glob.replace('**/', '**/'.repeat(100))).source).toBe(parseGlob(glob).source);
    }
  });

  it('tells where its matches can be', () => {
    expect(parseGlob('a/b/*.ts')).toMatchObject({ prefix: ['a', 'b'], maxDepth: 3, namesDot: false });
    expect(parseGlob('a/{b,c/d}/**')).toMatchObject({ prefix: ['a'], maxDepth: Number.POSITIVE_INFINITY });
    expect(parseGlob('.github/*')).toMatchObject({ prefix: ['.github'], namesDot: true });
  });
});

const HOSTILE: readonly ((size: number) => string)[] = [
  (size) => '*a'.repeat(size / 2),
  (size) => '**/'.repeat(size / 3),
  (size) => '?*'.repeat(size / 2),
  (size) => `${'{*a,'.repeat(Math.min(31, size / 8))}b${'}'.repeat(Math.min(31, size / 8))}`,
  (size) => '{a,*}'.repeat(Math.min(32, size / 5)),
  (size) => '[!b]*'.repeat(size / 5),
  (size) => `${'*'.repeat(size - 1)}b`,
  (size) => `${'*a'.repeat(Math.min(64, size / 4))}${'b'.repeat(size / 2)}`,
  (size) => '{a,b}'.repeat(Math.min(32, size / 5)) + '*a'.repeat(Math.min(64, size / 16)),
];

/** Compiles a glob; undefined for one with too many wildcards. */
function compileUnlessRefused(glob: string): RE2JS | undefined {
  try {
    return RE2JS.compile(parseGlob(glob).source);
  } catch (thrown) {
    expect(thrown).toMatchObject({ message: expect.stringContaining('more than 64 of') });
    return undefined;
  }
}

verifies('B1', 'a hostile glob is refused or becomes a program of linear size', () => {
  for (const [index, hostile] of HOSTILE.entries()) {
    for (const size of [8, 64, 512, 1024]) {
      const glob = hostile(size);
      expect(glob.length).toBeLessThanOrEqual(1024);
      const program = compileUnlessRefused(glob);
      if (!program) continue;
      // RE2 takes at most one step per instruction and character.
      expect(program.programSize(), `${index} ${size}`).toBeLessThan(40 + 12 * glob.length);
    }
  }
});
