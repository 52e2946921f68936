import { join } from 'node:path';
import { expect } from 'vitest';
import { modern } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';

verifies('G2', '`permissions` and lists show the tools that a server lists to the terminal alone', async () => {
  const inputSchema = { type: 'object' };
  const tools = [
    { name: 'read', inputSchema },
    { name: 'confirm', inputSchema, needs: 'elicitation' },
  ];
  const demo = { command: process.execPath, args: [join(SERVERS, 'listing-server.mjs'), JSON.stringify({ tools })] };
  const { heddle, up } = project({ 'heddle.json': { mcpServers: { demo } } });
  const json = async (...args: string[]) => JSON.parse((await heddle([...args, '--json'])).stdout);
  const namesOf = (list: readonly { readonly name: string }[]) =>
    list.map(({ name }) => name).filter((name) => name.startsWith('mcp__demo__'));
  const [confirm, read] = ['mcp__demo__confirm', 'mcp__demo__read'];
  const countOf = (servers: readonly { name: string; tools?: number }[]) =>
    servers.find(({ name }) => name === 'demo')?.tools;

  expect((await heddle(['call', 'demo.confirm'])).code).toBe(0);
  expect(await json('permissions')).toMatchObject({ unknownServers: [] });
  expect(namesOf((await json('permissions')).permissions)).toEqual([confirm, read]);
  expect(countOf(await json('list', 'servers'))).toBe(2);
  expect(namesOf(await json('list', 'tools', '--no-wait'))).toEqual([confirm, read]);
  // A client of the gateway may have other capabilities.
  const other = await json('permissions', '--caller', 'owner');
  expect(other).toMatchObject({ unknownServers: ['demo'] });
  expect(namesOf(other.permissions)).toEqual([confirm, read]);
  const { stderr } = await heddle(['permissions', '--caller', 'owner']);
  expect(stderr).toContain('demo has not listed its tools to a client without capabilities');

  const { url, token } = await up();
  const list = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...modern('tools/list')[1], 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', ...modern('tools/list')[0] }),
  });
  expect(await list.text()).not.toContain(confirm);
  expect(countOf(await json('list', 'servers'))).toBe(2);
  expect(countOf(await json('list', 'servers', '--check'))).toBe(2);
  expect(namesOf((await json('permissions', '--caller', 'owner')).permissions)).toEqual([confirm, read]);
  expect((await json('permissions', '--caller', 'owner')).permissions).toContainEqual(
    expect.objectContaining({ name: confirm, effect: 'deny', rule: 'capabilities' }),
  );
});
