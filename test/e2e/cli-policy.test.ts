import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../requirements.ts';
import { project, SERVERS } from './heddle-command.ts';

const COUNTER = (counts: string) => ({
  command: process.execPath,
  args: [join(SERVERS, 'counting-server.mjs')],
  env: { COUNTS: counts },
});

const RULES = `policies:
  - name: no-production
    effect: deny
    tools: [mcp__counter__allowed]
    when: has(args.target) && args.target == "production"
    reason: Production is changed by deployments only.
  - name: large-amounts
    effect: ask
    tools: [mcp__counter__allowed]
    when: has(args.amount) && args.amount + 1 > 100
    reason: Large amounts need a second person.
  - name: watched
    effect: deny
    callers: [role:user]
    when: has(args.amount) && args.amount > 10
    reason: Watched only.
    shadow: true
`;

function ruled(more: object = {}) {
  const counted = project({});
  const counts = join(counted.folder, 'counts');
  writeFileSync(
    join(counted.folder, 'heddle.json'),
    JSON.stringify({ mcpServers: { counter: COUNTER(counts) }, mode: 'open', ...more }),
  );
  return counted;
}

async function withRules(more: object = {}, rules = RULES) {
  const created = ruled(more);
  const { mkdirSync } = await import('node:fs');
  const folder = join(created.folder, '.heddle', 'policies');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.yaml'), rules);
  return { ...created, file: join(folder, 'main.yaml') };
}

verifies('G3', '`policy check` prints the verdict of each rule and exits with 0, 5 or 6', async () => {
  const { heddle, file } = await withRules();
  const denied = await heddle(['policy', 'check', 'counter.allowed', 'target=production']);
  expect(denied.code).toBe(5);
  expect(denied.stdout).toContain('mcp__counter__allowed is denied by policies: no-production: Production is changed');
  expect(denied.stdout).toMatch(new RegExp(`^policies: no-production +deny +yes .*${file}:2$`, 'm'));
  expect(denied.stdout).toMatch(/^policies: large-amounts +ask +no /m);
  expect(denied.stdout).toMatch(/^policies: watched +deny \(shadow\) +no /m);

  const asked = await heddle(['policy', 'check', 'counter.allowed', 'amount:=100', '--json']);
  expect(asked.code).toBe(6);
  expect(JSON.parse(asked.stdout)).toMatchObject({
    effect: 'ask',
    rule: 'policies: large-amounts',
    stages: [{ approvers: ['role:owner', 'role:approver'], need: 1 }],
  });
  expect(await heddle(['policy', 'check', 'counter.allowed', 'amount:=1'])).toMatchObject({ code: 0 });
  expect((await heddle(['policy', 'check', 'counter.allowd'])).code).toBe(2);
});

verifies('G3', '`policy check` converts arguments by the schema of a tool that a rule hides', async () => {
  const { heddle, folder } = await withRules();
  const counter = COUNTER(join(folder, 'counts'));
  const INPUT_SCHEMA = JSON.stringify({ type: 'object', properties: { amount: { type: 'integer' } } });
  const mcpServers = { counter: { ...counter, env: { ...counter.env, INPUT_SCHEMA } } };
  const permissions = { deny: ['mcp__counter__allowed'] };
  writeFileSync(join(folder, 'heddle.json'), JSON.stringify({ mcpServers, permissions }));
  const { code, stdout } = await heddle(['policy', 'check', 'counter.allowed', 'amount=150', '--json']);
  expect(code).toBe(5);
  expect(JSON.parse(stdout).verdicts).toContainEqual(
    expect.objectContaining({ rule: 'policies: large-amounts', matches: 'yes' }),
  );
  const wrong = await heddle(['policy', 'check', 'counter.allowed', 'amount=many']);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('amount') });
});

verifies('G3', '`policy check --as` decides for another caller, and names a standing approval', async () => {
  const { heddle } = await withRules(
    {
      gateway: { apiKeys: [{ name: 'ci', sha256: 'a'.repeat(64) }] },
      approvals: { standing: [{ tool: 'mcp__counter__allowed', arguments: { amount: '1*' } }] },
    },
    RULES.replace('    shadow: true\n', ''),
  );
  const check = (...words: string[]) => heddle(['policy', 'check', 'counter.allowed', ...words]);
  expect(await check('amount:=50')).toMatchObject({ code: 0 });
  expect(await check('amount:=50', '--as', 'key:ci')).toMatchObject({ code: 5 });
  const settled = await check('amount:=150');
  expect(settled).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('The standing approval approvals.standing[0] settles it.'),
  });
  expect(await check('amount:=250')).toMatchObject({
    code: 6,
    stdout: expect.stringContaining('Stage 1: 1 of role:owner, role:approver.'),
  });
});

verifies('G3', '`policy simulate` shows how a candidate would have decided on recorded calls', async () => {
  const { heddle, folder } = ruled();
  const call = (...words: string[]) => heddle(['call', 'counter.allowed', ...words]);
  expect((await call('target=production')).code).toBe(0);
  expect((await call('target=staging')).code).toBe(0);
  expect((await call('target=staging', 'token=abc')).code).toBe(0);
  const candidate = join(folder, 'candidate.yaml');
  writeFileSync(
    candidate,
    `${RULES}  - name: by-token
    effect: deny
    tools: [mcp__counter__allowed]
    when: has(args.token) && args.token == "abc"
    reason: No.
`,
  );
  const shown = await heddle(['policy', 'simulate', '--candidate', 'candidate.yaml', '--fail-on', 'newly-allowed']);
  expect(shown).toMatchObject({ code: 0, stderr: '' });
  expect(shown.stdout).toContain(
    '3 calls: 1 unchanged, 0 newly allowed, 0 newly asked, 1 newly denied, 1 undecidable.',
  );
  expect(shown.stdout).toContain('Undecidable: 1, because a value was redacted or cut.');
  expect(shown.stdout).toMatch(/ mcp__counter__allowed +allow +deny +policies: no-production /);
  const failed = await heddle([
    'policy',
    'simulate',
    '--candidate',
    'candidate.yaml',
    '--fail-on',
    'newly-denied',
    '--json',
  ]);
  expect(failed.code).toBe(1);
  expect(JSON.parse(failed.stdout)).toMatchObject({
    calls: 3,
    newlyDenied: 1,
    changed: [{ before: 'allow', after: 'deny' }],
  });
});

it.each([
  [['simulate'], 2, 'No candidate was given.'],
  [['simulate', '--candidate', 'gone.yaml'], 3, 'gone.yaml does not exist.'],
  [['simulate', '--candidate', 'bad.yaml'], 3, 'bad.yaml:5:'],
  [['simulate', '--candidate', 'bad.yaml', '--fail-on', 'newly-alowed'], 2, 'Did you mean newly-allowed?'],
  [['simulat'], 2, 'Did you mean `heddle policy simulate`?'],
  [['check'], 2, 'No tool to check was given.'],
])('`policy %s` exits with %i and says %j', async (words, code, says) => {
  const { heddle, folder } = ruled();
  writeFileSync(join(folder, 'bad.yaml'), RULES.replace('args.target ==', 'args.target ='));
  const outcome = await heddle(['policy', ...words]);
  expect(outcome.code).toBe(code);
  expect(outcome.stderr).toContain(says);
});

const PLACES = `policies:
  - name: as-text
    effect: deny
    tools: [mcp__counter__allowed]
    when: has(args.old) && !args.old.startsWith("/team/")
    reason: Only the folder of the team is open.
  - name: team-folder
    effect: deny
    tools: [mcp__counter__allowed]
    when: has(args.source) && !path.inside(args.source, "/team")
    reason: Only the folder of the team is open.
  - name: own-hosts
    effect: deny
    tools: [mcp__counter__allowed]
    when: has(args.url) && !host.is(args.url, "*.example.com")
    reason: Pages of other hosts are not fetched.
`;

verifies('G3', 'rules on paths and hosts deny other spellings, and rules that compare text are reported', async () => {
  const { heddle, file } = await withRules({}, PLACES);
  const denied = [
    'source=/team/../etc/passwd',
    'source=/team/%2e%2e/etc/passwd',
    'source=notes.md',
    'url=https://api.example.com@evil.net/',
    'url=https://evil.net/?api.example.com',
  ];
  for (const argument of denied) {
    expect(await heddle(['policy', 'check', 'counter.allowed', argument]), argument).toMatchObject({ code: 5 });
    expect(await heddle(['call', 'counter.allowed', argument]), argument).toMatchObject({ code: 5 });
  }
  const passed = await heddle(['policy', 'check', 'counter.allowed', 'source=/team/a', 'url=https://api.example.com/']);
  expect(passed.code).toBe(0);
  const warning = `${file}:5:29: \`when\` of the policy as-text may miss: it tests a path as text`;
  expect(passed.stderr).toContain(warning);
  expect(passed.stderr).toContain('Replace only this test with `path.inside(args.old, "/team")`.');
  expect((await heddle(['doctor'])).stdout).toContain(warning);
});

async function withTwo(priority: number) {
  const { heddle, folder } = await withRules();
  const counter = COUNTER(join(folder, 'counts'));
  const second = { ...counter, args: [...counter.args, 'second'], priority };
  writeFileSync(join(folder, 'heddle.json'), JSON.stringify({ mcpServers: { counter, second }, mode: 'open' }));
  await heddle(['list', 'tools']);
  return heddle;
}

verifies('R2', '`policy check` takes a bare name as `heddle call` does', async () => {
  const ranked = await withTwo(1);
  const checked = await ranked(['policy', 'check', 'allowed', '--json']);
  expect(JSON.parse(checked.stdout)).toMatchObject({ name: 'mcp__second__allowed' });
  expect(await ranked(['call', 'allowed'])).toMatchObject({ code: 0 });

  const equal = await withTwo(0);
  for (const command of [['policy', 'check'], ['call'], ['describe']]) {
    const { code, stderr } = await equal([...command, 'allowed']);
    expect(code).toBe(2);
    expect(stderr).toContain('counter.allowed, second.allowed');
  }
});
