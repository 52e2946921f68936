import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { nameOfCommand, nameOfUrl, uniqueName } from './derive-name.ts';

it.each([
  ['npx -y @modelcontextprotocol/server-time@1.2.3', 'server-time'],
  ['npx server-x', 'server-x'],
  ['/usr/bin/npx -y tool@latest --flag', 'tool'],
  ['uvx mcp-server-git==0.6.2', 'mcp-server-git'],
  ['uv tool run mcp-server-git', 'mcp-server-git'],
  ['pnpm dlx @a/b', 'b'],
  ['node ./dist/clock.mjs --port 1', 'clock'],
  ['python3 -m clock_server', 'clock_server'],
  ['docker run -i --rm -e TOKEN -v /a:/b ghcr.io/example/mcp-clock:1.0', 'mcp-clock'],
  ['./bin/my-server.sh', 'my-server'],
  ['heddle serve', 'a-heddle'],
  ['npx heddle-files', 'a-heddle-files'],
  ['npx workflow', 'a-workflow'],
  ['npx', 'npx'],
  ['…', 'server'],
])('calls `%s` %s', (line, name) => {
  const [command = '', ...args] = line.split(' ');
  expect(nameOfCommand(command, args)).toBe(name);
});

verifies('C2', 'derives the name of a remote server from the first label of its host that is not generic', () => {
  expect(nameOfUrl('https://notion.example.com/mcp')).toBe('notion');
  expect(nameOfUrl('https://mcp.example.com/mcp')).toBe('example');
  expect(nameOfUrl('https://www.api.example.co.uk/')).toBe('example');
  expect(nameOfUrl('https://mcp.test/')).toBe('mcp');
  expect(nameOfUrl('http://localhost:8080/')).toBe('localhost');
  expect(nameOfUrl('http://127.0.0.1:1/')).toBe('127-0-0-1');
  expect(nameOfUrl('http://[::1]:1/')).toBe('1');
});

it('appends the first number that makes a name unique', () => {
  expect(uniqueName('a', new Set(['b']))).toBe('a');
  expect(uniqueName('a', new Set(['a', 'a-2']))).toBe('a-3');
});
