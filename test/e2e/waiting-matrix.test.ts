import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import type { Approval } from '../../src/core/records/approval.ts';
import { openHeddle } from '../../src/open-heddle.ts';
import { freshPostgres, testPostgres } from '../../src/store/fixtures.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';
import { endOf, type OpenForm, type TaskClient, type WaitingClient } from './waiting-clients.ts';
import { ENDS, type End, keyOf, type Row, rowsOf } from './waiting-rows.ts';

const ACCEPT = { action: 'accept', content: { approve: true } };
const LONG_MS = 600_000;

/** A front end whose call waits. */
interface Waiting {
  readonly row: Row;
  client: WaitingClient;
  /** The task of a `task` row. */
  taskId?: unknown;
  end: Promise<string>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Opens a receiver of new approvals. With a webhook each gateway keeps requests open for `keepOpenMs`. */
async function webhook() {
  const server = createHttpServer((_request, response) => response.writeHead(204).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/`, secret: 'a secret of the matrix' };
}

/** The location of the store; SQLite in the home folder if undefined. */
async function locationOf(dialect: string): Promise<string | undefined> {
  if (dialect === 'sqlite') return undefined;
  const database = await freshPostgres();
  onTestFinished(() => database.remove(), 60_000);
  return database.location;
}

const apiKey = (name: string, role: string) => ({
  ...{ name, roles: [role] },
  sha256: createHash('sha256').update(keyOf(name)).digest('hex'),
});

const personKey = (name: string) => ({ ...apiKey(name, 'user'), person: true });

/** A running gateway, and a call of each front end that waits for its approval. */
async function open(dialect: string, tool: End) {
  const rows = rowsOf(tool, dialect);
  const store = await locationOf(dialect);
  const counted = join(await temporaryFolder(), 'counted');
  const counting = { command: process.execPath, args: [join(SERVERS, 'key-counting-server.mjs'), counted, ...ENDS] };
  const config = {
    ...(store !== undefined && { store }),
    mcpServers: { counting },
    mode: 'strict',
    approvals: {
      timeoutMs: LONG_MS,
      keepOpenMs: LONG_MS,
      webhook: await webhook(),
      rules: [
        {
          name: 'short',
          tools: ['mcp__counting__timed_out'],
          stages: [{ approvers: ['role:approver', 'role:user', 'role:owner'] }],
          timeoutMs: 2000,
        },
      ],
    },
    gateway: { apiKeys: [...rows.map(({ key }) => personKey(key)), apiKey('ops', 'approver')] },
  };
  const own = project({ 'heddle.json': config });
  const port = ['--port', String(await freePort())];
  let running = await own.up(port);

  async function api(path: string, body?: object): Promise<Record<string, unknown>> {
    const response = await fetch(new URL(`/api/approvals${path}`, running.url), {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${keyOf('ops')}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  async function approvals(): Promise<ReadonlyMap<string, Approval>> {
    const { approvals } = (await api('?status=all')) as unknown as { approvals: readonly Approval[] };
    const keyIn = ({ subject }: Approval) => String((subject.arguments as { key?: string }).key);
    return new Map(approvals.map((one) => [keyIn(one), one]));
  }

  async function connect(row: Row): Promise<WaitingClient> {
    const client = await row.connect({ own, running });
    onTestFinished(() => client.close());
    return client;
  }

  async function begin(row: Row): Promise<Waiting> {
    const client = await connect(row);
    return { row, client, ...(await callOf(row, client, tool)) };
  }

  const waiting = await Promise.all(rows.map(begin));
  await until('every call has its approval', async () => (await approvals()).size === rows.length);
  return {
    waiting,
    approvals,
    /** Decides on the calls of these front ends, in the process of the gateway. */
    async decide(verdict: 'approve' | 'reject', those: readonly Waiting[]) {
      const known = await approvals();
      const body = verdict === 'reject' ? { note: 'not today' } : {};
      await Promise.all(those.map(({ row }) => api(`/${known.get(row.key)?.id}/${verdict}`, body)));
    },
    /** Ends the gateway and starts it again at the same address. */
    async restart() {
      await running.stop();
      running = await own.up(port);
    },
    /** Closes clients and connects them again. They make the same call, or poll the same task. */
    async comeBack(those: readonly Waiting[]) {
      for (const one of those) {
        one.end.catch(() => {});
        await one.client.close();
        const client = await connect(one.row);
        const { taskId } = one;
        const end = taskId === undefined ? client.call(tool, one.row.key) : (client as TaskClient).follow(taskId);
        Object.assign(one, { client, end });
      }
    },
    own,
    ends: async () =>
      Object.fromEntries(await Promise.all(waiting.map(async ({ row, end }) => [row.label, await end]))),
    counts: () => {
      const lines = existsSync(counted) ? readFileSync(counted, 'utf8').trim().split('\n') : [];
      return lines.sort();
    },
    once: rows.map(({ key }) => `${tool} ${key}`).sort(),
    all: (end: string) => Object.fromEntries(rows.map(({ label }) => [label, end])),
  };
}

/** Makes the call of a front end. A task is begun first, and followed then. */
async function callOf(row: Row, client: WaitingClient, tool: End): Promise<Pick<Waiting, 'end' | 'taskId'>> {
  if (row.kind !== 'task') return { end: client.call(tool, row.key) };
  const { begin, get, follow } = client as TaskClient;
  const begun = await begin(tool, row.key);
  const { taskId } = begun;
  if (taskId === undefined) return { end: endOf(Promise.resolve(begun)) }; // Its time was over before it waited.
  const message = /^Waiting for .*role:approver.* to decide on the approval ap_/;
  const isDescribed = async () => message.test(String((await get(taskId)).statusMessage));
  if (tool !== 'timed_out') await until('the task names the approvers', isDescribed);
  const end = follow(taskId);
  end.catch(() => {}); // The gateway may end while it is polled.
  return { taskId, end };
}

const withForm = ({ row }: Waiting) => row.kind === 'form';
const withoutForm = ({ row }: Waiting) => row.kind !== 'form';
const isModern = ({ row }: Waiting) => row.era === 'modern';

async function answer(those: readonly Waiting[], response: object): Promise<void> {
  await until('each shows its form', () => those.every(({ client }) => client.forms.length > 0));
  for (const { client } of those) (client.forms.at(-1) as OpenForm).answer({ ...response });
}

/** Accepts each form that is shown, until the calls have ended. */
async function acceptUntilEnded(those: readonly Waiting[]): Promise<void> {
  let ended = 0;
  for (const { end } of those) void end.finally(() => ended++);
  await until('the calls have ended', () => {
    for (const { client } of those) for (const form of client.forms.splice(0)) form.answer({ ...ACCEPT });
    return ended === those.length;
  });
}

const STORES = [{ dialect: 'sqlite' }, { dialect: 'postgres' }];

describe.each(STORES.filter(({ dialect }) => dialect === 'sqlite' || testPostgres))('on $dialect', ({ dialect }) => {
  // What a front end shows does not depend on the store; restarts and other processes do.
  const onEveryStore = dialect === 'sqlite' || MEASURES;

  if (onEveryStore)
    verifies('G7', 'every front end runs its call once after the approval', async () => {
      const { waiting, decide, ends, all, counts, once } = await open(dialect, 'approved');
      await answer(waiting.filter(withForm), ACCEPT);
      await decide('approve', waiting.filter(withoutForm));
      expect(await ends()).toEqual(all('ok'));
      expect(counts()).toEqual(once);
    });

  if (onEveryStore)
    verifies('G7', 'no front end runs a rejected call, and the same call gets the rejection', async () => {
      const { waiting, decide, ends, all, counts } = await open(dialect, 'rejected');
      await answer(waiting.filter(withForm), { action: 'decline' });
      await decide('reject', waiting.filter(withoutForm));
      expect(await ends()).toEqual(all('APPROVAL_REJECTED'));
      const again = waiting.filter(({ row }) => row.transport === 'http' && row.kind === 'other');
      const repeated = await Promise.all(again.map(({ client, row }) => client.call('rejected', row.key)));
      expect(new Set(repeated)).toEqual(new Set(['APPROVAL_REJECTED']));
      expect(counts()).toEqual([]);
    });

  if (onEveryStore)
    verifies('G7', 'no front end runs a call without a decision in time', async () => {
      const { waiting, approvals, ends, all, counts } = await open(dialect, 'timed_out');
      await until('all have timed out', async () =>
        [...(await approvals()).values()].every(({ status }) => status === 'timeout'),
      );
      // A slow machine may show no form before the time is over.
      await acceptUntilEnded(waiting.filter(withForm));
      expect(await ends()).toEqual(all('APPROVAL_TIMED_OUT'));
      expect(counts()).toEqual([]);
    });

  if (onEveryStore)
    verifies('G7', 'a client that was gone finds the approval of the same call', async () => {
      const { waiting, comeBack, decide, approvals, ends, all, counts, once } = await open(dialect, 'gone');
      await comeBack(waiting);
      await answer(waiting.filter(withForm), ACCEPT);
      await decide('approve', waiting.filter(withoutForm));
      expect(await ends()).toEqual(all('ok'));
      expect([counts(), (await approvals()).size]).toEqual([once, once.length]);
    });

  verifies('G7', 'a restarted gateway finds the approval of every call, and resumes tasks and forms', async () => {
    const { waiting, comeBack, restart, decide, ends, all, counts, once } = await open(dialect, 'restarted');
    const isHeld = ({ kind, era, transport }: Row) =>
      transport !== 'stdio' && (kind === 'other' || (kind === 'form' && era === 'legacy'));
    await restart();
    const held = waiting.filter(({ row }) => isHeld(row));
    const heldEnds = await Promise.all(held.map(async ({ row, end }) => [row.label, await end]));
    expect(heldEnds).toEqual(held.map(({ row }) => [row.label, 'APPROVAL_PENDING']));
    // The requestState of a form that a modern client shows is good for the new gateway.
    const gone = waiting.filter(
      ({ row }) => !(row.kind === 'form' && row.era === 'modern' && row.transport === 'http'),
    );
    await comeBack(gone);
    await answer(waiting.filter(withForm), ACCEPT);
    await decide('approve', waiting.filter(withoutForm));
    expect(await ends()).toEqual(all('ok'));
    expect(counts()).toEqual(once);
  });

  verifies('G7', 'every front end learns what another process decided', async () => {
    const { waiting, own, approvals, ends, all, counts, once } = await open(dialect, 'elsewhere');
    await until('each shows its form', () => waiting.filter(withForm).every(({ client }) => client.forms.length > 0));
    const other = await openHeddle({ cwd: own.folder, env: own.env });
    onTestFinished(() => other.close());
    const ops = { id: 'key:ops', roles: ['approver'], via: 'cli' } as const;
    for (const { id } of (await approvals()).values()) await other.approvals.decide(ops, id, { verdict: 'approve' });
    await answer(
      waiting.filter((one) => withForm(one) && isModern(one)),
      { action: 'cancel' },
    );
    expect(await ends()).toEqual(all('ok'));
    expect(counts()).toEqual(once);
    expect(
      waiting.filter((one) => withForm(one) && !isModern(one)).every(({ client }) => client.forms[0]?.signal.aborted),
    ).toBe(true);
  });
});
