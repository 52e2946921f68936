import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { recordingServer, text } from '../../test/servers/recording-server.ts';
import type { JsonObject } from '../core/call.ts';
import { type GatewayUnderTest, gatewayUnderTest, modern, OWNER, openSession } from './fixtures.ts';

type Post = (params: JsonObject) => Promise<JsonObject>;

const ERAS: readonly [string, (gateway: GatewayUnderTest) => Promise<Post>][] = [
  [
    'modern',
    async ({ post }) =>
      async (params) =>
        (await post(...modern('tools/call', params))).json,
  ],
  [
    'legacy',
    async (gateway) => {
      const session = await openSession(gateway);
      return async (params) => (await gateway.post({ id: 1, method: 'tools/call', params }, session)).json;
    },
  ],
];

describe.each(ERAS)('an approved call of a %s client', (_era, connect) => {
  verifies('G6', 'runs with the `_meta` that its approver saw, and with no other', async () => {
    const demo = recordingServer({ run: () => text('done') });
    const config = { mode: 'strict', approvals: { keepOpenMs: 0 } };
    const gateway = await gatewayUnderTest({ servers: { demo }, config });
    const post = await connect(gateway);
    const call = async (_meta: JsonObject) =>
      JSON.stringify(await post({ name: 'mcp__demo__run', arguments: { command: 'ls' }, _meta }));
    const approvals = () => gateway.heddle.approvals.list(OWNER);
    const seen = { command: 'ls', 'claudecode/toolUseId': 'toolu_1', progressToken: 1 };

    expect(await call(seen)).toContain('APPROVAL_PENDING');
    const [first] = await approvals();
    expect(first?.subject.meta).toEqual({ command: 'ls', 'claudecode/toolUseId': 'toolu_1' });
    await gateway.heddle.approvals.decide(OWNER, first?.id ?? '', { verdict: 'approve' });

    expect(await call({ command: 'rm -r .', 'claudecode/toolUseId': 'toolu_2' })).toContain('APPROVAL_PENDING');
    expect(await call({ ...seen, 'claudecode/toolUseId': ['toolu_2'] })).toContain('APPROVAL_PENDING');
    expect(demo.calls).toEqual([]);
    expect(await approvals()).toHaveLength(2);

    expect(await call({ ...seen, 'claudecode/toolUseId': 'toolu_2', progressToken: 2 })).toContain('done');
    const [sent] = demo.calls;
    expect(sent?._meta).toMatchObject({ command: 'ls', 'claudecode/toolUseId': 'toolu_2' });
  });
});
