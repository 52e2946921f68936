// Two agents of one program share its servers. The writer may publish only after two of three named persons have approved,
// which a callback decides. Exits non-zero if anything differs from what is written here.
import assert from 'node:assert/strict';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { openHeddle } from 'heddle';
import { z } from 'zod';

const published: string[] = [];
const blog = new McpServer({ name: 'blog', version: '1.0.0' });
const publish = { description: 'Publishes a text.', inputSchema: { text: z.string() } };
blog.registerTool('publish', publish, ({ text }) => {
  published.push(text);
  return { content: [{ type: 'text', text: 'published' }] };
});

const reviewers = ['ann', 'bo', 'cy'];
const stages = [{ approvers: reviewers.map((name) => `library/${name}`), need: 2 }];
await using heddle = await openHeddle({
  store: ':memory:',
  servers: { blog },
  config: {
    permissions: { ask: ['mcp__blog__publish'] },
    policies: [
      { name: 'planner', effect: 'deny', callers: ['library/planner'], tools: ['mcp__blog'], reason: 'It plans.' },
    ],
    approvals: { rules: [{ name: 'two reviewers', stages }] },
  },
  // Called once per decision: a real program would show a dialog to each reviewer.
  onApprovalRequest: ({ agent, decisions }) => ({
    approve: true,
    by: reviewers[decisions.length] ?? 'nobody',
    note: `For the ${agent}.`,
  }),
});

assert.equal((await heddle.requiresApproval('blog.publish', { text: 'x' }, { agent: 'writer' })).required, true);
await assert.rejects(heddle.call('blog.publish', { text: 'A plan.' }, { agent: 'planner' }), { code: 'NAME_UNKNOWN' });
await heddle.call('blog.publish', { text: 'News.' }, { agent: 'writer' });
assert.deepEqual(published, ['News.']);

const [approval] = await heddle.approvals.list({ status: 'used' });
assert.deepEqual([approval?.agent, approval?.decisions.map(({ by }) => by)], ['writer', ['library/ann', 'library/bo']]);

assert.equal((await heddle.servers.disconnect('blog')).state, 'pending');
const counts = (await heddle.stats({ per: 'agent' })).map(({ name, totalCalls }) => [name, totalCalls]);
console.log(counts);
assert.deepEqual(counts, [['writer', 1]]);
