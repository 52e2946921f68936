import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import type { JsonObject } from '../core/call.ts';
import type { Approval } from '../core/records/approval.ts';
import {
  COMMAND_PROOF_VALUE,
  type GatewayUnderTest,
  gatewayUnderTest,
  JSON_HEADERS,
  modern,
  TOKEN,
} from '../gateway/fixtures.ts';
import { COMMAND_PROOF } from './command-wire.ts';

const ROLES = { approver: 'approver', bound: 'approver', auditor: 'auditor', agent: 'user', other: 'user' } as const;
type Name = keyof typeof ROLES | 'owner';

/** A gateway whose calls need an approval, and which keeps no request open for it. */
async function open(more: JsonObject = {}, settings: JsonObject = {}) {
  const apiKeys = Object.entries(ROLES).map(([name, role]) => ({
    ...{ name, roles: [role], ...(name === 'bound' && { profile: 'pub' }) },
    sha256: createHash('sha256').update(`hk_${name}`).digest('hex'),
  }));
  const demo = recordingServer({ add: () => text('done') });
  const config = {
    mode: 'strict',
    profiles: { pub: {} },
    approvals: { keepOpenMs: 0, ...more },
    gateway: { apiKeys },
    ...settings,
  };
  const gateway = await gatewayUnderTest({ servers: { demo }, config });
  return { gateway, demo, ...apiOf(gateway) };
}

const tokenOf = (name: Name) => (name === 'owner' ? TOKEN : `hk_${name}`);

function apiOf({ send, post }: GatewayUnderTest) {
  const headersOf = (as: Name, proof?: string) => ({
    ...JSON_HEADERS,
    authorization: `Bearer ${tokenOf(as)}`,
    ...(proof !== undefined && { [COMMAND_PROOF]: proof }),
  });
  const get = (as: Name, path = '') => send({ method: 'GET', path: `/api/approvals${path}`, headers: headersOf(as) });
  const decide = (as: Name, path: string, { proof, ...body }: JsonObject & { proof?: string } = {}) =>
    send({ path: `/api/approvals/${path}`, headers: headersOf(as, proof), body: JSON.stringify(body) });
  /** Makes a call, and returns the text of its result. */
  async function call(as: Name, input: JsonObject = {}): Promise<string> {
    const params = { name: 'mcp__demo__add', arguments: input };
    const { json } = await post({ id: 1, method: 'tools/call', params }, { authorization: `Bearer ${tokenOf(as)}` });
    return JSON.stringify(json.result);
  }
  const list = async (as: Name, query = '') =>
    ((await get(as, query)).json.approvals as unknown as Approval[]).map(({ id, status }) => ({ id, status }));
  const request = async (as: Name, input?: JsonObject) => {
    await call(as, input);
    const [newest] = await list('approver');
    return newest?.id as string;
  };
  return { get, decide, call, list, request };
}

describe('/api/approvals', () => {
  verifies('P6', 'pages by bytes, with cut arguments; an approval of its own has them exactly', async () => {
    const { get, call } = await open();
    const input = (n: number) => ({ n, text: 'x'.repeat(250_000) });
    for (let n = 0; n < 20; n++) await call(n % 2 === 0 ? 'agent' : 'other', input(n));
    const { json, text } = await get('approver');
    const listed = json.approvals as unknown as Approval[];
    expect([listed.length, text.length < 100_000, json.nextCursor]).toEqual([20, true, undefined]);
    expect(listed[0]?.subject).toMatchObject({
      isCut: true,
      arguments: expect.stringMatching(/^\{"n":\d+,"text":"x+…$/),
    });
    expect((await get('approver', `/${listed[19]?.id}`)).json.subject).toMatchObject({ arguments: input(0) });
    const first = (await get('approver', '?limit=15')).json;
    const second = (await get('approver', `?limit=15&cursor=${first.nextCursor}`)).json;
    const pages = [first, second].flatMap(({ approvals }) => approvals as unknown as Approval[]);
    expect([pages, second.nextCursor]).toEqual([listed, undefined]);
    expect(await get('approver', '?cursor=1')).toMatchObject({ status: 400, json: { code: 'USAGE_INVALID' } });
  });

  verifies(
    'G7',
    'does not approve a call of an anonymous client with the token that every client of the user has',
    async () => {
      const { gateway, decide, list, demo } = await open({}, { profiles: { open: { auth: 'none' } } });
      const [message, headers] = modern('tools/call', { name: 'mcp__demo__add', arguments: {} });
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      await gateway.send({ path: '/mcp/open', headers: { ...JSON_HEADERS, ...headers }, body });
      const [waiting] = await list('owner');
      const approve = `${waiting?.id}/approve`;
      expect(await decide('owner', approve)).toMatchObject({ status: 403, json: { code: 'PERMISSION_DENIED' } });
      expect(demo.calls.length).toBe(0);
      expect(await decide('owner', approve, { proof: COMMAND_PROOF_VALUE })).toMatchObject({ status: 200 });
    },
  );

  verifies('G7', 'approves a call, which then runs once', async () => {
    const { call, request, decide, demo, list } = await open();
    const id = await request('agent');
    expect(await decide('approver', `${id}/approve`, { note: 'fine' })).toMatchObject({
      status: 200,
      json: { id, status: 'approved', decisions: [{ by: 'key:approver', note: 'fine', via: 'console' }] },
    });
    expect(await call('agent')).toContain('done');
    expect(await list('auditor', '?status=all')).toEqual([{ id, status: 'used' }]);
    expect(demo.calls.length).toBe(1);
  });

  verifies('G7', 'shows an approval to its requester, who may reject it, and to no other user', async () => {
    const { request, get, decide, list, call } = await open();
    const id = await request('agent', { path: 'a' });
    expect((await get('agent', `/${id}`)).json).toMatchObject({ id, subject: { arguments: { path: 'a' } } });
    expect([await list('agent'), await list('other')]).toEqual([[{ id, status: 'pending' }], []]);
    expect((await get('other', `/${id}`)).status).toBe(404);
    expect([403, 404]).toContain((await decide('other', `${id}/reject`, { note: 'no' })).status);
    expect((await decide('agent', `${id}/approve`)).status).toBe(403);
    expect((await decide('agent', `${id}/reject`, { note: 'my mistake' })).status).toBe(200);
    expect(await call('agent', { path: 'a' })).toContain('my mistake');
  });

  verifies('G6', 'refuses to decide twice, and names the identity that decided', async () => {
    const { request, decide } = await open();
    const id = await request('agent');
    await decide('approver', `${id}/reject`, { note: 'no' });
    const { status, json } = await decide('owner', `${id}/approve`);
    expect([status, json.code]).toEqual([409, 'APPROVAL_SETTLED']);
    expect(json.error).toContain('key:approver');
  });

  verifies('G2', 'accepts the approval of an own call from the owner only with the proof of a command', async () => {
    const { request, decide } = await open();
    const own = await request('owner');
    const refused = await decide('owner', `${own}/approve`);
    expect([refused.status, refused.json.fix]).toEqual([
      403,
      `Run \`heddle approvals approve ${own}\` in a terminal, or use the key of an approver.`,
    ]);
    expect((await decide('owner', `${own}/approve`, { proof: 'forged' })).status).toBe(403);
    expect((await decide('owner', `${own}/approve`, { proof: COMMAND_PROOF_VALUE })).status).toBe(200);
    const other = await request('agent');
    expect((await decide('owner', `${other}/approve`)).status).toBe(200);
  });

  it.each<[string, string, JsonObject, number]>([
    ['an unknown field', 'approve', { force: true }, 400],
    ['a rejection without a note', 'reject', {}, 400],
    ['an empty note', 'reject', { note: ' ' }, 400],
    ['a note of 1 MB', 'reject', { note: 'x'.repeat(1_000_000) }, 413],
    ['a note of 2,001 characters', 'reject', { note: 'x'.repeat(2001) }, 400],
    ['a standing approval with an unknown field', 'approve', { standing: { forever: true } }, 400],
    ['a standing approval with 0 uses', 'approve', { standing: { uses: 0 } }, 400],
    ['another action', 'delete', {}, 404],
  ])('G6: refuses %s, and the approval stays pending', async (_, action, body, status) => {
    const { request, decide, list } = await open();
    const id = await request('agent');
    expect((await decide('approver', `${id}/${action}`, body)).status).toBe(status);
    expect(await list('approver')).toEqual([{ id, status: 'pending' }]);
  });

  verifies('G6', 'decides nothing by a GET, and knows no foreign id', async () => {
    const { request, get, decide, list } = await open();
    const id = await request('agent');
    expect((await get('approver', `/${id}/approve`)).status).toBe(405);
    expect((await decide('approver', 'ap_0000000000000000/approve')).status).toBe(404);
    expect((await get('approver', '?status=open')).status).toBe(400);
    expect((await get('approver', '?limit=0')).status).toBe(400);
    expect(await list('approver')).toEqual([{ id, status: 'pending' }]);
  });

  verifies('G6', 'shows a key with a profile no approval outside it, and takes no decision from it', async () => {
    const { request, get, decide, list, demo } = await open();
    const id = await request('agent', { path: 'a' });
    expect(await list('bound', '?status=all')).toEqual([]);
    const refused = [
      await get('bound', `/${id}`),
      await decide('bound', `${id}/approve`, { standing: {} }),
      await decide('bound', `${id}/reject`, { note: 'No.' }),
    ];
    expect(refused.map(({ status, json }) => [status, json.code])).toEqual(refused.map(() => [404, 'NAME_UNKNOWN']));
    expect([await list('approver'), demo.calls.length]).toEqual([[{ id, status: 'pending' }], 0]);
  });

  verifies('G6', 'lists and revokes standing approvals', async () => {
    const { request, get, decide, call, demo } = await open();
    const id = await request('agent', { path: 'a' });
    expect((await decide('approver', `${id}/approve`, { standing: { uses: 5 } })).status).toBe(200);
    await call('agent', { path: 'a' });
    expect(await call('agent', { path: 'b' })).toContain('done');
    const { standing } = (await get('approver', '/standing')).json as unknown as { standing: { id: string }[] };
    expect(standing).toMatchObject([{ tool: 'mcp__demo__add', approvedBy: 'key:approver' }]);
    expect((await decide('approver', `standing/${standing[0]?.id}/revoke`)).status).toBe(200);
    expect(await call('agent', { path: 'c' })).toContain('APPROVAL_PENDING');
    expect(demo.calls.length).toBe(2);
  });
});
