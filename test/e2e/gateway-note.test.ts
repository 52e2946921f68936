import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { project } from './heddle-command.ts';

const TOKEN = 'the-token-of-the-owner';

/** Starts another process that listens on a port of its own and writes every byte it receives to a file. */
async function eavesdropper(file: string): Promise<{ readonly port: number; readonly pid: number }> {
  const program = `
    const { appendFileSync } = require('node:fs');
    const server = require('node:http').createServer((request, response) => {
      appendFileSync(${JSON.stringify(file)}, request.url + JSON.stringify(request.rawHeaders));
      request.on('data', (chunk) => appendFileSync(${JSON.stringify(file)}, chunk));
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ version: '0', pid: process.pid, servers: [], status: 'ok', proof: 'x' }));
    });
    server.listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(createInterface(child.stdout), 'line');
  return { port: Number(line), pid: Number(child.pid) };
}

describe('a gateway.json whose port belongs to another process', () => {
  verifies('L7', 'makes no command send the token there', async () => {
    const { home, folder, heddle, up } = project({ 'heddle.json': {} });
    const heard = join(folder, 'heard');
    const { port, pid } = await eavesdropper(heard);
    const url = `http://127.0.0.1:${port}/mcp`;
    const stale = { url, token: TOKEN, pid, project: folder, proofKey: 'a'.repeat(43) };
    mkdirSync(home, { recursive: true });
    const note = join(home, 'gateway.json');
    writeFileSync(note, JSON.stringify(stale));

    const listed = await heddle(['list', 'servers', '--json']);
    expect([listed.code, JSON.parse(listed.stdout)]).toMatchObject([0, [{ name: 'filesystem' }]]);
    const status = await heddle(['--json']);
    expect(JSON.parse(status.stdout)).toMatchObject({ gateway: null });
    const running = await up();
    expect(JSON.parse(readFileSync(note, 'utf8'))).toMatchObject({ url: running.url, pid: running.pid });
    expect(existsSync(heard) ? readFileSync(heard, 'utf8') : '').not.toContain(TOKEN);
  });
});

verifies('L7', 'names the folder of another gateway, and says which commands use it', async () => {
  const first = project({ 'heddle.json': {} });
  const { url } = await first.up();
  const second = project({ 'heddle.json': {} });
  const { stderr } = await second.up(['--port', '0'], { HEDDLE_HOME: first.home });
  const folder = realpathSync(first.folder);
  await until('the notice is printed', () => stderr().includes('Another gateway'));
  expect(stderr().replace(/\s+/g, ' ')).toContain(
    `Another gateway is running at ${url} for ${folder}. Commands use that one if they have its configuration, and never this one.`,
  );
});
