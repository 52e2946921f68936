import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/core/call.ts';
import { aCall, grace } from '../../../src/core/fixtures.ts';
import type { Approval } from '../../../src/core/records/approval.ts';
import { gatewayUnderTest, JSON_HEADERS } from '../../../src/gateway/fixtures.ts';
import { approvalIdOf } from '../../../src/govern/approvals/fixtures.ts';
import type { OpenOptions } from '../../../src/index.ts';
import { verifies } from '../../requirements.ts';
import { ELICITATION_CLIENTS, type User } from '../../servers/elicitation-clients.ts';
import { recordingServer, text } from '../../servers/recording-server.ts';
import { temporaryFolder, temporaryHeddle, temporaryHeddleClient } from '../../temporary-heddle.ts';
import { until } from '../../until.ts';
import { EXECUTE, OLDER, people } from './people.ts';

const START = Date.UTC(2026, 10, 17, 9);
const apiKey = (name: string, role: string) => ({
  ...{ name, roles: [role] },
  sha256: createHash('sha256').update(`hk_${name}`).digest('hex'),
});

const previewOf = ({ subject }: Approval) => subject.preview?.join('\n') ?? '';
const isLate = (preview: string) => /within 2 s/.test(preview);

/** Opens a program with the database of two people. */
async function opened(config: JsonObject = {}, options: Partial<OpenOptions> = {}) {
  const folder = await temporaryFolder();
  const { builtins, ages } = people(folder);
  const { config: _, cwd: __, env: ___, ...rest } = options;
  const heddle = await temporaryHeddleClient({ folder, config: { builtins, ...config }, ...rest });
  const older = (input = OLDER) => heddle.call('database.db_execute', input);
  const refused = (input = OLDER) =>
    older(input).then(
      () => Promise.reject(new Error('It ran.')),
      (thrown) => thrown as { readonly code: string; readonly details: JsonObject; readonly message: string },
    );
  return { heddle, ages, older, refused };
}

describe('db_execute', () => {
  verifies('B2', 'waits for an approver, although mode, rules, policies and standing approvals allow it', async () => {
    const allow = { effect: 'allow', reason: 'It may.' };
    const { heddle, refused, ages } = await opened({
      mode: 'open',
      permissions: { allow: [EXECUTE, 'mcp__database__*'] },
      policies: [
        { name: 'all', ...allow },
        { name: 'some', ...allow, when: 'args.sql != ""' },
      ],
      approvals: { standing: [{ tool: EXECUTE, arguments: {} }] },
    });
    expect(await refused()).toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(ages()).toEqual([40, 60]);
    const [one] = await heddle.approvals.list();
    expect(one).toMatchObject({ status: 'pending', allowsStanding: false, subject: { name: EXECUTE } });
    const standing = heddle.approvals.approve(one?.id ?? '', { standing: {} });
    await expect(standing).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect(await refused()).toMatchObject({ code: 'APPROVAL_PENDING' });
    expect(ages()).toEqual([40, 60]);
  });

  verifies('B2', 'shows approvers the statement, its parameters and the plan', async () => {
    const { heddle, refused } = await opened({ mode: 'open' });
    let shown = '';
    let age = 0;
    // On a slow machine a preview may be late: then the next one is looked at.
    await until('a preview is in time', async () => {
      const { details } = await refused({ ...OLDER, params: [++age] });
      shown = previewOf(await heddle.approvals.get(String(details.approval)));
      return !isLate(shown);
    });
    expect(shown).toContain('SQL:\n  UPDATE people\n  SET age = age + ?\n');
    expect(shown).toContain(`1: ${age}\n`);
    expect(shown).toMatch(/SCAN people/);
  });

  verifies('B2', 'runs once after the program has approved it', async () => {
    const seen: Approval[] = [];
    const { older, ages, heddle } = await opened(
      { mode: 'open' },
      {
        onApprovalRequest(approval) {
          seen.push(approval);
          return { approve: true };
        },
      },
    );
    expect(await older()).toMatchObject({ isError: false, value: { structuredContent: { affectedRows: 2 } } });
    expect(ages()).toEqual([41, 61]);
    expect(seen.map(previewOf)).toEqual([expect.stringMatching(/./)]);
    const used = () => heddle.approvals.get(seen[0]?.id ?? '');
    await until('the end is stored', async () => (await used()).outcome === 'complete');
  });

  verifies(
    'B2',
    'does not run if the program rejects it, and not with other arguments than the approved ones',
    async () => {
      const rejecting = await opened({}, { onApprovalRequest: () => ({ approve: false, note: 'No.' }) });
      expect(await rejecting.refused()).toMatchObject({ code: 'APPROVAL_REJECTED' });
      expect(rejecting.ages()).toEqual([40, 60]);

      const { heddle, refused, older, ages } = await opened({ mode: 'open' });
      const { details } = await refused();
      await heddle.approvals.approve(String(details.approval));
      for (const params of [[2], ['1'], [1.5]]) {
        expect(await refused({ ...OLDER, params })).toMatchObject({ code: 'APPROVAL_PENDING' });
      }
      expect(await refused({ ...OLDER, sql: `${OLDER.sql} ` })).toMatchObject({ code: 'APPROVAL_PENDING' });
      expect(ages()).toEqual([40, 60]);
      await older();
      expect(await refused()).toMatchObject({ code: 'APPROVAL_PENDING' });
      expect(ages()).toEqual([41, 61]);
    },
  );

  verifies('B2', 'does not run on another database than the approved one', async () => {
    const [folder, elsewhere] = [await temporaryFolder(), await temporaryFolder()];
    const [test, production] = [people(folder), people(elsewhere)];
    const before = await temporaryHeddleClient({ folder, config: { builtins: test.builtins } });
    await expect(before.call('database.db_execute', OLDER)).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    const [approval] = await before.approvals.list();
    await before.approvals.approve(approval?.id ?? '');
    await before.close();
    const after = await temporaryHeddleClient({ folder, config: { builtins: production.builtins } });
    const again = after.call('database.db_execute', OLDER);
    await expect(again).rejects.toMatchObject({ code: 'APPROVAL_PENDING' });
    expect([test.ages(), production.ages()]).toEqual([
      [40, 60],
      [40, 60],
    ]);
  });

  verifies('B2', 'does not run after the time to decide is over', async () => {
    const folder = await temporaryFolder();
    const { builtins, ages } = people(folder);
    let now = START;
    const config = { builtins, approvals: { timeoutMs: 60_000 } };
    const heddle = await temporaryHeddle({ folder, config, clock: () => now });
    const call = aCall({ name: 'database.db_execute', input: OLDER, caller: grace });
    const id = approvalIdOf(await heddle.dispatch(call));
    now += 60_001;
    const late = heddle.approvals.decide(grace, id, { verdict: 'approve' });
    await expect(late).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' });
    const again = heddle.dispatch({ ...call, continuation: { kind: 'approval', id } });
    await expect(again).rejects.toMatchObject({ code: 'APPROVAL_TIMED_OUT' });
    expect(ages()).toEqual([40, 60]);
  });

  verifies('B2', 'is refused in an unattended installation, and by a rule that denies', async () => {
    const unattended = await opened({ mode: 'open', approvals: { unattended: true } });
    expect(await unattended.refused()).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    const denied = await opened({ permissions: { deny: [EXECUTE] } });
    await expect(denied.older()).rejects.toMatchObject({
      code: expect.stringMatching(/NAME_UNKNOWN|PERMISSION_DENIED/),
    });
    expect([unattended.ages(), denied.ages()]).toEqual([
      [40, 60],
      [40, 60],
    ]);
  });

  verifies('B2', 'reaches no approver with a statement that is not permitted', async () => {
    const asked: Approval[] = [];
    const { older, ages } = await opened(
      { mode: 'open' },
      {
        onApprovalRequest(approval) {
          asked.push(approval);
          return { approve: true };
        },
      },
    );
    const statements = [
      ...[
        'DROP TABLE people',
        'DELETE FROM people; DELETE FROM people',
        'SELECT 1',
        "ATTACH 'x.db' AS x",
        'PRAGMA user_version = 7',
      ],
      ...['UPDATE nothing SET a = 1', 'VACUUM', "UPDATE people SET age = load_extension('x')"],
    ];
    const inputs: readonly JsonObject[] = [...statements.map((sql) => ({ sql })), { ...OLDER, params: [1, 2] }];
    for (const input of inputs) {
      // A check that is late does not hold up the approval, and the statement is refused when it runs.
      await until(`${JSON.stringify(input)} is refused in time`, async () => {
        const before = asked.length;
        expect(await older(input)).toMatchObject({ isError: true });
        return asked.length === before;
      });
    }
    expect(asked.filter((approval) => !isLate(previewOf(approval)))).toEqual([]);
    expect(ages()).toEqual([40, 60]);
  });
});

const OPS = { id: 'key:ops', roles: ['approver'], via: 'cli' } as const;

/** Opens a gateway with the same database, and a client of an agent. */
async function served(era: 'legacy' | 'modern', user: User, approvals: JsonObject = {}) {
  const folder = await temporaryFolder();
  const { builtins, ages } = people(folder);
  const apiKeys = [{ ...apiKey('agent', 'user'), person: true }, apiKey('ops', 'approver')];
  const config = { builtins, mode: 'open', approvals: { keepOpenMs: 0, ...approvals }, gateway: { apiKeys } };
  const gateway = await gatewayUnderTest({ folder, config });
  const client = await ELICITATION_CLIENTS[era](
    { url: gateway.url, token: 'hk_agent' },
    { user, capabilities: { elicitation: { form: {} } } },
  );
  onTestFinished(() => client.close());
  return { gateway, ages, older: () => client.call(EXECUTE, { input: OLDER }) };
}

for (const era of ['legacy', 'modern'] as const) {
  verifies('B2', `a ${era} client gets a form with the preview, and its answer decides`, async () => {
    const messages: string[] = [];
    const answering =
      (approve: boolean): User =>
      (_method, { message }) => {
        messages.push(String(message));
        return { action: 'accept', content: { approve } };
      };
    const yes = await served(era, answering(true));
    expect(await yes.older()).toMatchObject({ structuredContent: { affectedRows: 2 } });
    expect(yes.ages()).toEqual([41, 61]);
    expect(messages[0]).toContain('\npreview: ');
    const no = await served(era, answering(false));
    expect(JSON.stringify(await no.older().catch((thrown) => String(thrown)))).toContain('reject');
    expect(no.ages()).toEqual([40, 60]);
  });
}

verifies('B2', 'an approver sees the preview at /api/approvals and approves the call of an agent', async () => {
  const rules = [{ name: 'four eyes', stages: [{ approvers: ['key:ops'] }], notRequester: true }];
  const never: User = () => Promise.reject(new Error('It was asked.'));
  const { gateway, older, ages } = await served('modern', never, { rules });
  await older().catch(() => {}); // It waits for the approver.
  const [pending] = await gateway.heddle.approvals.list(OPS);
  const { json } = await gateway.send({ method: 'GET', path: `/api/approvals/${pending?.id}`, headers: JSON_HEADERS });
  expect(previewOf(json as unknown as Approval)).not.toBe('');
  expect(ages()).toEqual([40, 60]);
  await gateway.heddle.approvals.decide(OPS, pending?.id ?? '', { verdict: 'approve' });
  expect(await older()).toMatchObject({ structuredContent: { affectedRows: 2 } });
  expect(ages()).toEqual([41, 61]);
});

verifies(
  'C8',
  'a server of the user named database has neither the approval nor the preview of the built-in one',
  async () => {
    const folder = await temporaryFolder();
    const { builtins, ages } = people(folder);
    const database = recordingServer({ db_execute: () => text('mine') });
    const heddle = await temporaryHeddleClient({ folder, config: { builtins, mode: 'open' }, servers: { database } });
    expect(await heddle.call('database.db_execute', OLDER)).toMatchObject({ isError: false });
    expect(database.calls).toHaveLength(1);
    expect(ages()).toEqual([40, 60]);
  },
);
