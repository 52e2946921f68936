import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Project, project, SERVERS } from './heddle-command.ts';

const ODD_TOOLS = join(SERVERS, 'odd-tools.mjs');
const ODD = { command: process.execPath, args: [ODD_TOOLS] };

/** A server that answers each request with an error, and counts the requests. */
async function refusing(): Promise<{ readonly url: string; readonly requests: () => number }> {
  let count = 0;
  const url = await listening(
    createServer((_request, response) => {
      count++;
      response.writeHead(500).end();
    }),
  );
  return { url, requests: () => count };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

/** Makes the stored failures a second old. Several commands may take longer than the minute for which failures are shown. */
function renewFailures({ home }: Project): void {
  const db = new DatabaseSync(join(home, 'heddle.sqlite'));
  db.prepare('UPDATE server_failures SET at = ?').run(Date.now() - 1_000);
  db.close();
}

verifies(
  'T3',
  'a server that failed in the last minute is shown with its age, and tried again with --fresh',
  async () => {
    const dead = await refusing();
    const here = project({ 'heddle.json': { mcpServers: { odd: ODD, dead: { type: 'http', url: dead.url } } } });
    const list = (...args: string[]) => here.heddle(['list', ...args]);
    expect(await list('servers', '--check')).toMatchObject({ code: 1, stderr: '' });
    const asked = dead.requests();
    expect(asked).toBeGreaterThan(0);

    renewFailures(here);
    const again = await list('servers', '--check', '--json');
    const [failed] = JSON.parse(again.stdout).filter(({ name }: { name: string }) => name === 'dead');
    expect(again.code).toBe(1);
    expect(failed).toMatchObject({ state: 'failed', failedAt: expect.any(Number), failedAgoMs: expect.any(Number) });
    renewFailures(here);
    const tools = await list('tools', '--json');
    expect(JSON.parse(tools.stdout).at(-1)).toMatchObject({
      ...{ kind: 'missing', server: 'dead', state: 'failed', failedAgoMs: expect.any(Number) },
    });
    renewFailures(here);
    const shown = await here.heddle(['list', 'servers', '--check'], { spawned: true });
    expect(shown.stdout).toMatch(/^odd +connected/m);
    expect(shown.stdout).toMatch(/^dead +failed \d+ s ago/m);
    expect(shown.stderr).toContain('were not tried again; --fresh does.');
    expect(dead.requests()).toBe(asked);

    await list('servers', '--check', '--fresh');
    expect(dead.requests()).toBeGreaterThan(asked);
  },
);

verifies('T3', 'a call tries a server that has just failed, and its success ends the failure', async () => {
  // Ends at once until the project has a file.
  const program = `if (!require('node:fs').existsSync('up')) process.exit(1); import(${JSON.stringify(ODD_TOOLS)})`;
  const late = { command: process.execPath, args: ['-e', program] };
  const here = project({ 'heddle.json': { mcpServers: { late } } });
  const states = async () => JSON.parse((await here.heddle(['list', 'servers', '--json'])).stdout);
  await here.heddle(['list', 'tools']);
  renewFailures(here);
  expect(await states()).toContainEqual(expect.objectContaining({ name: 'late', state: 'failed' }));
  writeFileSync(join(here.folder, 'up'), '');
  expect(await here.heddle(['call', 'late.echo', 'message=hello'])).toMatchObject({ code: 0 });
  expect(await states()).toContainEqual(expect.objectContaining({ name: 'late', state: 'pending' }));
});

verifies('T2', 'prints each server as it is checked, also while another one hangs', async () => {
  const hanging = await listening(createServer(() => {}));
  const here = project({ 'heddle.json': { mcpServers: { hanging: { type: 'http', url: hanging }, odd: ODD } } });
  let printed = '';
  await here.heddle(['list', 'servers', '--check'], {
    async meanwhile(child) {
      child.stdout?.on('data', (chunk) => (printed += chunk));
      await until('the working server is printed', () => /^odd +connected/m.test(printed));
      child.kill('SIGINT');
    },
  });
  expect(printed).not.toMatch(/^hanging/m);
});
