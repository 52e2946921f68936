import { describe, expect, it } from 'vitest';
import { serverAt, splitCommand } from './ad-hoc-server.ts';

describe('a server given on the command line', () => {
  it.each([
    ['npx -y @modelcontextprotocol/server-everything', 'server-everything'],
    ['npx @scope/server-time@1.2.3', 'server-time'],
    ['/usr/local/bin/thing --flag', 'thing'],
    ['node ./dist/my.server.js', 'my-server'],
    ['uvx mcp-server-git', 'mcp-server-git'],
    ['heddle serve', 'a-heddle'],
    ['workflow', 'a-workflow'],
  ])('by the command %j is called %s', (command, name) => {
    const words = command.split(' ');
    const { server, call } = splitCommand([...words, '::', 'tool', 'a=b']);
    expect(server).toEqual({ name, entry: { command: words[0], args: words.slice(1) } });
    expect(call).toEqual(['tool', 'a=b']);
  });

  it.each([
    ['http://localhost:3001/mcp', 'localhost'],
    ['https://mcp.example.com/', 'example'],
    ['http://127.0.0.1:9/mcp', '127-0-0-1'],
    ['https://heddle.example.com', 'a-heddle'],
  ])('by the address %s is called %s', (url, name) => {
    expect(serverAt(url)).toEqual({ name, entry: { type: 'http', url } });
  });

  it.each([['node x'], ['node x ::'], [':: tool'], ['']])('refuses %j with an example', (words) => {
    expect(() => splitCommand(words.split(' '))).toThrow(expect.objectContaining({ code: 'USAGE_INVALID' }));
  });
});
