import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Project, project, SERVERS } from './heddle-command.ts';

/** A receiver that answers with `status`, which a test may change. */
async function receiver(status: number) {
  const state = { status, ids: [] as string[] };
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    if (state.status === 204) state.ids.push(body.approval.id);
    response.writeHead(state.status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

function asking(url: string): Project {
  const one = project({ calls: '', 'heddle.json': {} });
  const notes = { command: process.execPath, args: [join(SERVERS, 'noting-server.mjs'), join(one.folder, 'calls')] };
  const approvals = { webhook: { url, secret: 'a secret of sixteen' } };
  const config = { mcpServers: { notes }, permissions: { ask: ['mcp__notes__write'] }, approvals };
  writeFileSync(join(one.folder, 'heddle.json'), JSON.stringify(config));
  return one;
}

const WRITE = ['call', 'notes.write', 'text=hi', 'path=a'];
const idIn = (stderr: string) => /ap_[a-z0-9]{16}/.exec(stderr)?.[0];

verifies('G7', 'a command posts its approval before it ends', async () => {
  const { state, url } = await receiver(204);
  const { code, stderr } = await asking(url).heddle(WRITE, { spawned: true });
  expect([code, state.ids]).toEqual([6, [idIn(stderr)]]);
});

verifies('G7', 'a gateway posts the approvals that an ended process could not', async () => {
  const { state, url } = await receiver(503);
  const one = asking(url);
  const { code, stderr } = await one.heddle(WRITE, { spawned: true });
  expect([code, state.ids]).toEqual([6, []]);
  state.status = 204;
  const up = await one.up();
  await until('the approval is received', () => state.ids.length > 0);
  expect(state.ids).toEqual([idIn(stderr)]);
  expect(await up.stop()).toBe(0);
});
