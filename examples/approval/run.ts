// A tool that deletes notes needs an approval. The first call waits, the program closes, and the approval is still there
// when it opens again. After the approval the same call runs, once. A standing approval settles calls with matching
// arguments. At last the program decides by itself. Exits non-zero if anything differs from what is written here.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { HeddleError, type OpenOptions, openHeddle } from 'heddle';
import { z } from 'zod';

const folder = await mkdtemp(join(tmpdir(), 'heddle-example-'));
const deleted: string[] = [];

/** Opens Heddle with a server in this process, and with a store on disk. */
async function open(options: OpenOptions = {}) {
  const notes = new McpServer({ name: 'notes', version: '1.0.0' });
  const definition = {
    description: 'Deletes a note.',
    inputSchema: { path: z.string() },
    annotations: { destructiveHint: true },
  };
  notes.registerTool('delete', definition, ({ path }) => {
    deleted.push(path);
    return { content: [{ type: 'text', text: `${path} is deleted` }] };
  });
  return openHeddle({ cwd: folder, config: false, store: join(folder, 'heddle.db'), servers: { notes }, ...options });
}

/** Calls the tool and returns the error. */
async function refusal(heddle: Awaited<ReturnType<typeof open>>, path: string): Promise<HeddleError> {
  const thrown = await heddle.call('notes.delete', { path }).catch((error) => error);
  assert(HeddleError.is(thrown));
  console.log(`${thrown.code}: ${thrown.message}\n  ${thrown.fix}`);
  return thrown;
}

try {
  {
    await using heddle = await open();
    assert.equal((await refusal(heddle, 'drafts/one')).code, 'APPROVAL_PENDING');
  }
  {
    await using heddle = await open();
    const [approval] = await heddle.approvals.list();
    assert(approval);
    console.log(`${approval.id} by ${approval.requestedBy}: ${approval.reasons.join(' ')}`);
    assert.deepEqual(approval.subject.arguments, { path: 'drafts/one' });
    await heddle.approvals.approve(approval.id, { note: 'Only the first.' });
    await heddle.call('notes.delete', { path: 'drafts/one' });
    assert.deepEqual(deleted, ['drafts/one']);
    // The approval was for one call with these arguments.
    assert.equal((await refusal(heddle, 'drafts/one')).code, 'APPROVAL_PENDING');

    const { details } = await refusal(heddle, 'drafts/two');
    await heddle.approvals.approve(String(details.approval), { standing: { arguments: { path: 'drafts/*' } } });
    await heddle.call('notes.delete', { path: 'drafts/two' });
    await heddle.call('notes.delete', { path: 'drafts/three' });
    assert.equal((await refusal(heddle, 'letters/one')).code, 'APPROVAL_PENDING');
    for (const { id } of await heddle.approvals.standing.list()) await heddle.approvals.standing.revoke(id);
  }
  {
    await using heddle = await open({
      onApprovalRequest: ({ subject }) => ({
        approve: JSON.stringify(subject.arguments).includes('drafts/'),
        note: 'Only drafts are deleted.',
      }),
    });
    await heddle.call('notes.delete', { path: 'drafts/four' });
    const rejected = await refusal(heddle, 'letters/two');
    assert.equal(rejected.code, 'APPROVAL_REJECTED');
    assert.match(rejected.message, /Only drafts are deleted/);
  }
  assert.deepEqual(deleted, ['drafts/one', 'drafts/two', 'drafts/three', 'drafts/four']);
} finally {
  await rm(folder, { recursive: true, force: true });
}
