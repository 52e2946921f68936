import { expect, it } from 'vitest';
import { proxyFor } from './proxy-for.ts';

const proxyOf = (url: string, env: Record<string, string>) => proxyFor(new URL(url), env);

it('chooses the proxy by the scheme of the URL', () => {
  const env = { http_proxy: 'plain:1', HTTPS_PROXY: 'https://secure:2' };
  expect(proxyOf('http://a.example/', env)).toBe('http://plain:1');
  expect(proxyOf('https://a.example/', env)).toBe('https://secure:2');
  expect(proxyOf('https://a.example/', { HTTP_PROXY: 'plain:1' })).toBe('http://plain:1');
  expect(proxyOf('http://a.example/', { HTTPS_PROXY: 'secure:2' })).toBeUndefined();
  expect(proxyOf('https://a.example/', {})).toBeUndefined();
});

it('uses no proxy for loopback', () => {
  for (const host of ['localhost', 'x.localhost', '127.0.0.9', '[::1]'])
    expect(proxyOf(`http://${host}:8080/`, { HTTP_PROXY: 'plain:1' })).toBeUndefined();
});

it.each([
  ['*', ['http://a.example/', 'https://b.example:8/'], []],
  ['a.example', ['http://a.example/', 'http://A.example./', 'http://x.a.example/'], ['http://ba.example/']],
  ['.a.example', ['http://a.example/', 'http://x.a.example/'], ['http://b.example/']],
  ['*.a.example', ['http://x.a.example/'], ['http://a.example/']],
  ['a.example:8080', ['http://a.example:8080/'], ['http://a.example/']],
  ['a.example:443', ['https://a.example/'], ['http://a.example/']],
  ['b.example, a.example c.example', ['http://a.example/', 'http://c.example/'], ['http://d.example/']],
  ['10.0.0.1', ['http://10.0.0.1:9/'], ['http://10.0.0.11/']],
  ['fd00::1', ['http://[fd00::1]/'], ['http://[fd00::2]/']],
  ['[fd00::1]:8080', ['http://[fd00::1]:8080/'], ['http://[fd00::1]/']],
  ['*:8080', ['http://a.example:8080/'], ['http://a.example/']],
  ['', [], ['http://a.example/']],
])('goes around the proxy for NO_PROXY=%s', (noProxy, direct, proxied) => {
  const env = { HTTP_PROXY: 'plain:1', NO_PROXY: noProxy };
  expect(direct.filter((url) => proxyOf(url, env) !== undefined)).toEqual([]);
  expect(proxied.filter((url) => proxyOf(url, env) === undefined)).toEqual([]);
});
