import { expect, it } from 'vitest';
import { hasState, queryOfPasted } from './pasted-redirect.ts';

it.each([
  ['the whole URL', 'http://127.0.0.1:4711/callback?code=a&state=b', 'code=a&state=b'],
  ['a URL with blanks around it', '  http://127.0.0.1:4711/callback?code=a&state=b \r', 'code=a&state=b'],
  ['a quoted URL', '"http://localhost:1/callback?code=a&state=b"', 'code=a&state=b'],
  ['the query', '?code=a&state=b', 'code=a&state=b'],
  ['the query without its mark', 'code=a&state=b&iss=https%3A%2F%2Fas', 'code=a&state=b&iss=https%3A%2F%2Fas'],
  ['a query with a fragment', '?code=a&state=b#_=_', 'code=a&state=b'],
  ['an error', '?error=access_denied&state=b', 'error=access_denied&state=b'],
])('A2: reads a pasted redirect from %s', (_, text, query) => {
  expect(queryOfPasted(text)).toBe(query);
});

it.each([
  ['nothing', ''],
  ['a code alone', 'abc'],
  ['the authorization request', 'https://as.example/authorize?response_type=code&state=b'],
  ['a redirect without state', 'http://127.0.0.1:1/callback?code=a'],
])('A2: accepts no redirect from %s', (_, text) => {
  expect(queryOfPasted(text)).toBeUndefined();
});

it('A2: knows a redirect of another sign-in by its state', () => {
  expect(hasState('code=a&state=b', 'b')).toBe(true);
  expect(hasState('code=a&state=c', 'b')).toBe(false);
  expect(hasState('code=a&state=b&state=c', 'b')).toBe(false);
});
