import { expect, it } from 'vitest';
import { isUrlPattern, matchesUrl } from './url-pattern.ts';

it.each([
  ['https://mcp.example.com/*', 'https://mcp.example.com/a/b?c'],
  ['https://MCP.Example.com/*', 'https://mcp.EXAMPLE.com/'],
  ['https://*.example.com/*', 'https://a.b.example.com/x'],
  ['https://example.com', 'https://example.com/any/path'],
  ['https://example.com/mcp', 'https://example.com:443/mcp'],
  ['https://example.com:8443/*', 'https://example.com:8443/x'],
  ['*://example.com/*', 'ws://example.com/x'],
  ['https://example.com/admin*', 'https://example.com/%61dmin/x'],
  ['https://example.com/*', 'https://example.com./x'],
  ['https://example.com/*', 'https://me:pw@example.com/x'],
  ['*', 'http://anything.test/'],
])('%s fits %s', (pattern, url) => {
  expect(isUrlPattern(pattern)).toBe(true);
  expect(matchesUrl(pattern, url)).toBe(true);
});

it.each([
  ['https://*.example.com/*', 'https://evil.test/.example.com/'],
  ['https://*.example.com/*', 'https://example.com/'],
  ['https://*.example.com/*', 'https://evil.test?.example.com/'],
  ['https://example.com/*', 'https://example.com@evil.test/'],
  ['https://example.com/*', 'https://example.com.evil.test/'],
  ['https://example.com/*', 'http://example.com/'],
  ['https://example.com/*', 'https://example.com:444/'],
  ['https://example.com/mcp', 'https://example.com/MCP'],
  ['https://example.com/a*b', 'https://example.com/aXc'],
  ['https://example.com/*', 'not a url'],
])('%s does not fit %s', (pattern, url) => {
  expect(matchesUrl(pattern, url)).toBe(false);
});

it.each(['', 'example.com', 'https://', 'https://bücher.example/', 'https://a b/', 'https://me@h/'])(
  'takes %j for no pattern',
  (text) => expect(isUrlPattern(text)).toBe(false),
);

it('takes no longer for a pattern that was made to take long', () => {
  const started = performance.now();
  expect(matchesUrl(`https://h/${'*a'.repeat(500)}b`, `https://h/${'a'.repeat(5000)}`)).toBe(false);
  expect(performance.now() - started).toBeLessThan(1000);
});
