import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import type { Timer } from '../../core/time.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { type RealStore, realStore } from '../fixtures.ts';
import { approvalWebhook } from './webhook.ts';
import { webhookBody } from './webhook-body.ts';

const LIMITS = { perPrincipal: 50, total: 10_000 };
const SECRET = 'webhook-secret-marker';

const approvalOf = (id: string): StoredApproval => ({
  id,
  binding: id,
  principal: 'key:ci',
  version: 1,
  status: 'pending',
  subject: {
    kind: 'tool',
    name: 'mcp__files__delete',
    description: 'Deletes \u202e a file.',
    servers: ['files'],
    digest: 'd1',
    inputDigest: 'i1',
    riskLevel: 'high',
    arguments: { path: 'a.txt', password: 'argument-marker' },
  },
  requestedBy: 'key:ci',
  via: 'gateway',
  requestedAt: 1_000,
  expiresAt: 61_000,
  reasons: ['destructive'],
  rule: 'mode guarded',
  stages: [{ approvers: ['role:approver'], need: 1 }],
  notRequester: false,
  allowsStanding: true,
  decisions: [],
});

interface Received {
  readonly body: string;
  readonly signature: string | undefined;
}

/** A receiver that answers with the given statuses, then with 204. It refuses bodies that match a pattern. */
async function receiver(statuses: readonly number[] = [], refused = /^$/) {
  const received: Received[] = [];
  const rest = [...statuses];
  const server = createServer(async (request, response) => {
    const signature = request.headers['heddle-signature'];
    const body = await text(request);
    received.push({ body, signature: signature === undefined ? undefined : String(signature) });
    response.writeHead(refused.test(body) ? 403 : (rest.shift() ?? 204), { location: 'http://169.254.169.254/' }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

/** A timer that fires when the test says so. */
function manualTimer() {
  const waiting: { readonly delayMs: number; readonly callback: () => void }[] = [];
  const timer: Timer = (delayMs, callback) => {
    const one = { delayMs, callback };
    waiting.push(one);
    return () => void (waiting.includes(one) && waiting.splice(waiting.indexOf(one), 1));
  };
  return { timer, waiting, fire: () => waiting.shift()?.callback() };
}

function webhookTo(url: string, store: RealStore, { now = 2_000 } = {}) {
  const time = { now };
  const manual = manualTimer();
  const webhook = approvalWebhook({
    target: () => ({ url, secret: SECRET }),
    box: store.approvals,
    leases: store.leases,
    audit: store.audit,
    env: {},
    clock: () => time.now,
    timer: manual.timer,
    random: () => 0.5,
  });
  onTestFinished(() => webhook.close());
  return { webhook, time, ...manual };
}

verifies('G7', 'posts a new approval once, signed, with sanitised arguments', async () => {
  const store = await realStore();
  const { received, url } = await receiver();
  const { webhook } = webhookTo(url, store);
  await store.approvals.open(approvalOf('ap_one'), LIMITS);
  webhook.send();
  webhook.send();
  await webhook.close();
  const [{ body, signature } = { body: '', signature: '' }] = received;
  expect(received).toHaveLength(1);
  expect(signature).toBe(`t=2,v1=${createHmac('sha256', SECRET).update(`2.${body}`).digest('hex')}`);
  expect(JSON.parse(body)).toMatchObject({
    event: 'approval.requested',
    approval: {
      id: 'ap_one',
      name: 'mcp__files__delete',
      description: 'Deletes \\u{202e} a file.',
      arguments: { path: 'a.txt', password: '[REDACTED]' },
      expiresAt: '1970-01-01T00:01:01.000Z',
      stages: [{ approvers: ['role:approver'], need: 1 }],
    },
  });
  expect(body).not.toMatch(/marker|binding|principal/);
});

verifies('G7', 'tries again until the webhook has received an approval', async () => {
  const store = await realStore();
  const { received, url } = await receiver([500, 302]);
  const { webhook, waiting, fire } = webhookTo(url, store);
  await store.approvals.open(approvalOf('ap_one'), LIMITS);
  webhook.send();
  for (const delayMs of [1000, 2000]) {
    await until('the retry is planned', () => waiting.length === 1);
    expect(waiting[0]?.delayMs).toBe(delayMs);
    fire();
  }
  await until('the approval is received', async () => (await store.approvals.unnotified(0, 1)).length === 0);
  expect(received).toHaveLength(3);
  await webhook.close();
  expect(waiting).toEqual([]);
  await until('both records are committed', async () => (await store.phases()).length === 2);
  const records = await store.audit.search({ limit: 10 });
  expect(records.map(({ name, detail }) => [name, detail.outcome, detail.reason])).toEqual([
    ['approvals.webhook', 'ok', undefined],
    ['approvals.webhook', 'failed', 'HTTP 500'],
  ]);
});

verifies('G7', 'sends after a restart what an earlier process could not, and nothing that timed out', async () => {
  const store = await realStore();
  const { received, url } = await receiver();
  const earlier = webhookTo('http://127.0.0.1:1/', store);
  for (const id of ['ap_one', 'ap_two']) await store.approvals.open(approvalOf(id), LIMITS);
  await store.approvals.open({ ...approvalOf('ap_old'), expiresAt: 1_500 }, LIMITS);
  earlier.webhook.send();
  await earlier.webhook.close();
  expect(earlier.waiting).toEqual([]);
  const later = webhookTo(url, store);
  later.webhook.send();
  await later.webhook.close();
  expect(received.map(({ body }) => JSON.parse(body).approval.id).toSorted()).toEqual(['ap_one', 'ap_two']);
});

verifies('G7', 'sends from one process at a time', async () => {
  const store = await realStore();
  const { received, url } = await receiver();
  const both = [webhookTo(url, store), webhookTo(url, store)];
  for (let n = 0; n < 30; n++) await store.approvals.open(approvalOf(`ap_${n}`), LIMITS);
  for (const { webhook } of both) webhook.send();
  await until('every approval is received', async () => {
    for (const { fire } of both) fire();
    return (await store.approvals.unnotified(0, 1)).length === 0;
  });
  await Promise.all(both.map(({ webhook }) => webhook.close()));
  expect(received).toHaveLength(30);
});

verifies('G7', 'sends a new approval though the receiver refuses the twenty oldest for ever', async () => {
  const store = await realStore();
  const { received, url } = await receiver([], /ap_bad/);
  const { webhook, waiting } = webhookTo(url, store);
  for (let n = 0; n < 25; n++) await store.approvals.open(approvalOf(`ap_bad${n}`), LIMITS);
  webhook.send();
  await until('the retry is planned', () => waiting.length === 1);
  await store.approvals.open({ ...approvalOf('ap_good'), requestedAt: 1_500 }, LIMITS);
  webhook.send();
  await until('the new one was sent', () => received.some(({ body }) => body.includes('ap_good')));
  await webhook.close();
});

verifies('G7', 'sends no secret that is cut where the search for secrets in a preview ends', () => {
  const jwt = `eyJ${'a'.repeat(2000)}.${'b'.repeat(1980)}.c`;
  const { subject, ...rest } = approvalOf('a1');
  const preview = [`${jwt} sk-ant-REALKEY1234567890abcdef`];
  const body = JSON.parse(webhookBody({ ...rest, subject: { ...subject, preview } }, 1_000));
  expect(body.approval.preview).toBe('[REDACTED]… [cut]');
});
