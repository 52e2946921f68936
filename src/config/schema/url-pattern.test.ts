import { expect, it } from 'vitest';
import { within } from '../../../test/limits.ts';
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
  // The default port, in any spelling.
  ['https://evil.example:443/*', 'https://evil.example/x'],
  ['https://evil.example:443/*', 'https://evil.example:443/x'],
  ['https://evil.example:0443/*', 'https://evil.example/x'],
  ['https://evil.example:/*', 'https://evil.example/x'],
  ['http://evil.example:80/*', 'http://evil.example/x'],
  ['ws://evil.example:80/*', 'ws://evil.example/x'],
  ['wss://evil.example:443', 'wss://evil.example/x'],
  ['*://evil.example:443/*', 'wss://evil.example/x'],
  ['https://evil.example:*/*', 'https://evil.example/x'],
  ['https://evil.example:*/*', 'https://evil.example:8443/x'],
  ['https://*:443/*', 'https://evil.example/x'],
  ['https://*/*', 'https://evil.example:8443/x'],
  // A host, in any spelling.
  ['https://EVIL.example.:443/*', 'https://evil.example/x'],
  ['https://evil.example./*', 'https://evil.example/x'],
  ['https://*.example./*', 'https://evil.example./x'],
  ['https://%65vil.example/*', 'https://evil.example/x'],
  ['https://xn--bcher-kva.example/*', 'https://bücher.example/'],
  ['https://xn--bcher-kva.example/*', 'https://B%C3%BCcher.example/'],
  ['https://evil.example/*', 'https://ｅｖｉｌ.example/'],
  ['http://127.1/*', 'http://127.0.0.1/x'],
  ['http://127.0.0.1/*', 'http://0x7f000001/x'],
  ['http://[0:0::1]:80/*', 'http://[::1]/x'],
  ['http://[::FFFF:127.0.0.1]/*', 'http://[::ffff:7f00:1]/x'],
  ['http://[fe80:*]:8080/*', 'http://[fe80::1]:8080/x'],
  ['http://127.0.0.1/*', 'http://[::ffff:127.0.0.1]/x'],
  ['http://[::ffff:169.254.169.254]/*', 'http://169.254.169.254/x'],
  ['http://10.*/*', 'http://[::ffff:10.1.2.3]/x'],
  // A path, in any spelling.
  ['https://example.com/%61dmin*', 'https://example.com/admin/x'],
  ['https://example.com/%61dmin*', 'https://example.com/%61dmin/x'],
  ['https://example.com/a/../admin*', 'https://example.com/admin/x'],
  ['https://example.com/admin*', 'https://example.com/x/..%2fadmin'],
  ['https://example.com/admin*', 'https://example.com\\x\\..\\admin'],
  ['https://example.com/caf%c3%a9', 'https://example.com/caf%C3%A9'],
  ['https://example.com?key=*', 'https://example.com/?key=1'],
  ['https://example.com/mcp', 'https://example.com//mcp'],
  ['https://example.com//a///b', 'https://example.com/a/b'],
  ['https://example.com/admin*', 'https://example.com/x/%2f..%2fadmin'],
  // A wildcard at the end of a host, followed by a port.
  ['https://10.*/*', 'https://10.0.0.1/x'],
  ['https://10.*:*/*', 'https://10.0.0.1:8443/x'],
  ['https://10.*:8443/*', 'https://10.0.0.1:8443/x'],
  ['https://**/*', 'https://evil.example:8443/x'],
  ['https://example.com/mcp/*', 'https://example.com/mcp/a;v=1/..b/c%20d/1.2'],
  ['http://127.0.0.1:*/*', 'http://127.0.0.1:0/x'],
])('%s matches %s', (pattern, url) => {
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
  ['https://example.com:443/*', 'https://example.com:8443/'],
  ['https://example.com:443/*', 'http://example.com/'],
  ['https://example.com:80/*', 'https://example.com/'],
  ['https://example.com/*', 'wss://example.com/'],
  ['https://example.com:4*/*', 'https://example.com:8443/'],
  ['https://example.com/pub/*', 'https://example.com/pub/..%2fadmin'],
  ['https://example.com/pub/*', 'https://example.com/pub/..%5cadmin'],
  ['https://example.com/%2A', 'https://example.com/admin'],
  ['https://example.com/a%3Fb', 'https://example.com/a?b'],
  ['https://10.*/*', 'https://10.0.0.1:8443/'],
  ['https://10.*', 'https://10.0.0.1:8443/'],
  ['https://mcp*/*', 'https://mcp.example:8443/'],
  ['http://[fe80:*/*', 'http://[fe80::1]:8080/'],
  ['http://*43/*', 'http://example.com:8443/'],
  ['https://example.com/mcp', 'https://example.com/mcp?x'],
  ['https://example.com/mcp', 'https://example.com/mcp/'],
  // A dot segment for a server that drops path parameters or decodes twice.
  ['https://example.com/mcp/*', 'https://example.com/mcp/..;/admin'],
  ['https://example.com/mcp/*', 'https://example.com/mcp/..%3bx/admin'],
  ['https://example.com/mcp/*', 'https://example.com/mcp/%252e%252e/admin'],
  ['https://example.com/mcp/*', 'https://example.com/mcp/..%255cadmin'],
  ['https://example.com/mcp/*', 'https://example.com/mcp/.%09./admin'],
  // A port that is not known yet.
  ['http://127.0.0.1/*', 'http://127.0.0.1:0/x'],
  ['http://127.0.0.1:4555/*', 'http://127.0.0.1:0/x'],
])('%s does not match %s', (pattern, url) => {
  expect(matchesUrl(pattern, url)).toBe(false);
});

it.each([
  ['https://example.com/mcp', 'https://example.com/mcp?x'],
  ['https://example.com/mcp', 'https://example.com//mcp/?x=/'],
  ['https://example.com/mcp/', 'https://example.com/mcp'],
  ['https://example.com/', 'https://example.com?x'],
  ['https://example.com/a*c', 'https://example.com/abc?x'],
  ['https://example.com/mcp?x', 'https://example.com/mcp?x'],
  ['https://example.com/admin', 'https://example.com/admin;x'],
  ['https://example.com/admin/a', 'https://example.com/admin;x/a;y?z'],
  ['https://example.com/admin', 'https://example.com/admin%3fx'],
  ['https://example.com/admin', 'https://example.com/admin%23x'],
  ['http://127.0.0.1:4555', 'http://127.0.0.1:0/x'],
  ['http://localhost:*', 'http://127.0.0.1:4555/x'],
  ['http://localhost', 'http://127.9.9.9/x'],
  ['http://127.0.0.1', 'http://ide.localhost/x'],
  ['http://127.0.0.2:*', 'http://localhost:4555/x'],
  ['http://*.localhost:*', 'http://127.0.0.1:4555/x'],
  ['http://0.0.0.0:*', 'http://127.0.0.1:4555/x'],
])('a deny rule %s matches %s', (pattern, url) => {
  expect(matchesUrl(pattern, url, 'deny')).toBe(true);
});

it.each([
  ['https://example.com/mcp', 'https://example.com/mcp2'],
  ['https://example.com/mcp?x', 'https://example.com/mcp'],
  ['https://example.com/mcp', 'https://example.com:8443/mcp'],
  ['https://example.com/', 'https://example.com/mcp'],
])('a deny rule %s does not match %s', (pattern, url) => {
  expect(matchesUrl(pattern, url, 'deny')).toBe(false);
});

it.each([
  ...['', 'example.com', 'https://', 'https://bücher.example/', 'https://a b/', 'https://me@h/'],
  ...['https://h:port/', 'https://h:99999/', 'https://h:1:2/', 'https://:443/', 'https://[::1/', 'https://a<b/'],
  ...['https://*.%65vil/', 'https://*.a<b/', 'https://1.2.3.4.5/'],
])('rejects %j as a pattern', (text) => expect(isUrlPattern(text)).toBe(false));

it('matches a pattern with many wildcards in linear time', async () => {
  await within(1000, () => {
    expect(matchesUrl(`https://h/${'*a'.repeat(500)}b`, `https://h/${'a'.repeat(5000)}`)).toBe(false);
  });
});

it.each([
  ['http://127.0.0.1:*/*', 'http://0.0.0.0:8080/x'],
  ['http://localhost:*/*', 'http://0.0.0.0:8080/x'],
  ['http://[::1]:*/*', 'http://[::]:8080/x'],
  ['http://127.*:*/*', 'http://[::ffff:0:0]:8080/x'],
  ['http://[*]:*/*', 'http://[::ffff:127.0.0.1]:8080/x'],
  ['http://[::ffff:*]/*', 'http://[::ffff:127.0.0.1]/x'],
])('%s denies %s, which is another name of this machine, and does not allow it', (pattern, url) => {
  expect(matchesUrl(pattern, url, 'deny')).toBe(true);
  expect(matchesUrl(pattern, url, 'allow')).toBe(false);
});
