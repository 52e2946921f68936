import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import type { Json } from '../core/call.ts';
import { compileExpression } from './compile-expression.ts';
import { conditionValues } from './fixtures.ts';
import { unknownValue } from './unknown-value.ts';

function is(url: unknown, pattern: string): unknown {
  const source = `host.is(args.url, ${JSON.stringify(pattern)})`;
  const condition = compileExpression(source);
  if (!('evaluate' in condition)) throw new Error(`${source}: ${condition.message}`);
  return condition.evaluate(conditionValues({ url: url as Json }));
}

const failure = (text: string) => ({ failure: expect.stringContaining(text) });

describe('host.is', () => {
  verifies('G3', 'compares the host of a URL, whatever its case, port, path or final dot', () => {
    const urls = [
      'https://example.com',
      'HTTPS://Example.COM:8443/a?b#c',
      'wss://example.com./x',
      'http://example.com?q=a b',
    ];
    for (const url of urls) {
      expect(is(url, 'example.com'), url).toBe(true);
      expect(is(url, '*.example.com'), url).toBe(false);
    }
    for (const url of ['https://api.example.com/x', 'https://a.b.EXAMPLE.com.:1/x']) {
      expect(is(url, '*.example.com'), url).toBe(true);
      expect(is(url, 'example.com'), url).toBe(false);
    }
    for (const url of ['https://evil-example.com', 'https://example.com.evil.net', 'https://evil.net/example.com'])
      for (const pattern of ['example.com', '*.example.com']) expect(is(url, pattern), url).toBe(false);
    expect(is('https://evil.net/?@example.com', 'example.com')).toBe(false);
  });

  verifies('G3', 'compares names of other alphabets by their ASCII form, and addresses', () => {
    for (const url of [
      'https://münchen.de',
      'https://MÜNCHEN.de/',
      'https://xn--mnchen-3ya.de/',
      'https://münchen。de',
    ])
      for (const pattern of ['münchen.de', 'xn--mnchen-3ya.de']) expect(is(url, pattern), url).toBe(true);
    expect(is('https://ｅｘａｍｐｌｅ.com', 'example.com')).toBe(true);
    expect(is('https://еxample.com', 'example.com')).toBe(false); // A Cyrillic letter.
    expect(is('http://127.0.0.1:80/', '127.0.0.1')).toBe(true);
    expect(is('http://[0:0::1]:80/', '[::1]')).toBe(true);
    expect(is('http://[2001:DB8::1]/', '[2001:db8:0::1]')).toBe(true);
  });

  verifies('G3', 'fails for a text that another program may read as another host', () => {
    const doubtful: readonly [unknown, string][] = [
      [7, 'not a text'],
      [null, 'not a text'],
      ['', 'not a URL'],
      ['example.com/a', 'not a URL'],
      ['//example.com/a', 'not a URL'],
      ['https:example.com', 'not a URL'],
      ['https:/example.com', 'not a URL'],
      ['https:///example.com', 'not a URL'],
      ['https:\\\\evil.net', 'not a URL'],
      [' https://example.com', 'not a URL'],
      ['file:///etc/passwd', 'not a URL'],
      ['git@example.com:a/b', 'not a URL'],
      ['mongodb://evil.net,a.example.com/x', 'not a URL'],
      ['javascript://example.com/%0aalert(1)', 'not a URL'],
      ['https://example.com@evil.net/', 'user'],
      ['https://evil.net\\@example.com/', 'backslash'],
      ['https://evil.net\\.example.com/', 'backslash'],
      ['https://evil.net#@example.com/', 'user'],
      ['https://evil.net?@example.com/', 'user'],
      ['https://ex%61mple.com/', 'percent-encoded'],
      ['https://exa\tmple.com/', 'control character'],
      ['https://example.com/\n', 'control character'],
      ['https://exa mple.com/', 'not valid'],
      ['https://example.com /', 'not valid'],
      ['https://example.com ', 'not valid'],
      ['https://example.com ?a', 'not valid'],
      ['https://example.com:80 /', 'not valid'],
      ['https://example.com\u00a0/', 'not valid'],
      ['https://example.com:99999/', 'not valid'],
      ['https://evil.net,a.example.com/', 'not valid'],
      ['https://example..com/', 'not valid'],
      ['https://.example.com/', 'not valid'],
      ['https://example.com../', 'not valid'],
      ['https://straße.de/', 'not valid'],
      ['http://2130706433/', 'address'],
      ['http://0177.0.0.1/', 'address'],
      ['http://127.1/', 'address'],
      ['http://[::ffff:127.0.0.1]/', 'address'],
      ['http://[64:ff9b::7f00:1]/', 'address'],
      ['http://[::1%25eth0]/', 'percent-encoded'],
    ];
    for (const [url, reason] of doubtful) {
      for (const pattern of ['example.com', '*.example.com', 'evil.net', '127.0.0.1']) {
        expect(is(url, pattern), String(url)).toEqual(failure(reason));
      }
    }
    expect(is(unknownValue, 'example.com')).toMatchObject({ isUnknown: true });
  });

  verifies('G3', 'reports a literal pattern that is no host, with its place', () => {
    const wrong = [
      '',
      '*',
      '*.',
      '*example.com',
      'a.*.com',
      'https://example.com',
      'example.com:443',
      'example.com/',
      'a@b',
    ];
    for (const pattern of [
      ...wrong,
      '*.0.0.1',
      '*.[::1]',
      '0x7f.1',
      '*.*.com',
      '.example.com',
      'example.com?',
      'a b',
    ]) {
      expect(compileExpression(`host.is(args.url, ${JSON.stringify(pattern)})`), pattern).toMatchObject({
        message: expect.stringContaining('of `host.is` is not a host'),
        fix: expect.stringContaining('`"*.example.com"`'),
        offset: 18,
      });
    }
    expect(is('https://example.com', 'Example.COM.')).toBe(true);
  });
});
