import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { hostMachine } from './connected-host.ts';

const CURSOR = '.cursor/mcp.json';

verifies(
  'C12',
  'connect --yes moves secrets of env, args and URLs into the secret store, and --plain keeps them',
  async () => {
    const token = 'sbp_0123456789abcdef0123';
    const args = ['server', '--access-token', token, 'postgresql://u:hunter22@db.example/x'];
    const servers = {
      one: { command: 'npx', args, env: { API_KEY: 'k-1234', LEVEL: 'debug' } },
      two: { url: 'https://mcp.example.com/mcp?token=abc123' },
    };
    const text = JSON.stringify({ mcpServers: servers });
    const written = async (...more: string[]) => {
      const machine = hostMachine({ [CURSOR]: text });
      const { stdout, stderr } = await machine.at.heddle(['connect', 'cursor', '--yes', ...more]);
      return { ...machine, output: stdout + stderr, file: readFileSync(join(machine.at.home, 'heddle.json'), 'utf8') };
    };
    const moved = await written();
    expect(JSON.parse(moved.file).mcpServers).toMatchObject({
      one: {
        args: [
          'server',
          '--access-token',
          '${secret:one.access-token}',
          'postgresql://u:${secret:one.arg-4}@db.example/x',
        ],
        env: { API_KEY: '${secret:one.API_KEY}', LEVEL: 'debug' },
      },
      two: { url: 'https://mcp.example.com/mcp?token=${secret:two.url}' },
    });
    for (const name of ['one.access-token', 'one.arg-4', 'one.API_KEY', 'two.url']) {
      expect(moved.output).toContain(`The secret ${name} is in the secret store.`);
    }
    for (const value of [token, 'hunter22', 'k-1234', 'abc123']) expect(moved.output + moved.file).not.toContain(value);
    // A second connect finds the same servers, and undo gives the host its secrets back.
    expect((await moved.at.heddle(['connect', 'cursor', '--yes'])).stdout).toContain('is connected already.');
    await moved.at.heddle(['connect', 'cursor', '--undo']);
    expect(moved.bytes(CURSOR)).toBe(text);
    const plain = await written('--plain');
    expect(JSON.parse(plain.file).mcpServers).toMatchObject(servers);
    expect(plain.output).toContain('--plain');
  },
);
