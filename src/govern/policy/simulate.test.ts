import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject, Target } from '../../core/call.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import type { AuditEntry } from '../../core/records/audit-entry.ts';
import { decider, type Policy } from '../decide.ts';
import { openingRecord } from '../opening-record.ts';
import { aRule } from './fixtures.ts';
import { isOpening, recordedCall } from './recorded-call.ts';
import { simulation } from './simulate.ts';

const OPEN: Policy = { mode: 'open', permissions: { allow: [], ask: [], deny: [] }, servers: new Map() };
const withRules = (...rules: readonly Parameters<typeof aRule>[0][]): Policy => ({
  ...OPEN,
  rules: rules.map((rule) => aRule(rule)),
});

/** Records a call, and reads the record again. */
function recorded(input: JsonObject, target: Target = aTarget(), more: JsonObject = {}) {
  const record = openingRecord(aCall({ input, target }), 1000)();
  const entry: AuditEntry = { ...record, segment: 's', sequence: 1, hash: 'h' };
  const stored = JSON.parse(JSON.stringify({ ...entry, detail: { ...entry.detail, ...more } })) as AuditEntry;
  const call = recordedCall(stored, { find: () => target, looksAtTaint: true });
  if (typeof call === 'string') throw new Error(call);
  return call;
}

const NONE = withRules();
const LONG = 'x'.repeat(300);
const onPath = (when: string, effect: 'allow' | 'ask' | 'deny' = 'deny') =>
  withRules({ name: 'r', tools: ['mcp__demo'], when, effect });

verifies('G3', 'decides on a recorded call by both policies, at the time of the call', () => {
  const simulate = simulation(NONE, onPath('args.path.startsWith("/etc")'));
  expect(simulate(recorded({ path: '/etc/passwd' }))).toEqual({ before: 'allow', after: 'deny', rule: 'policies: r' });
  expect(simulate(recorded({ path: '/tmp' }))).toMatchObject({ before: 'allow', after: 'allow' });
  const timed = simulation(NONE, onPath('time < timestamp("1970-01-01T00:00:02Z")', 'ask'));
  expect(timed(recorded({}))).toMatchObject({ after: 'ask' });
});

verifies('G3', 'a call is undecidable only if a condition needs a redacted or cut value', () => {
  const byToken = simulation(NONE, onPath('args.token == "a"'));
  expect(byToken(recorded({ token: 'a' }))).toBeUndefined();
  expect(byToken(recorded({ token: '[REDACTED]' }))).toBeDefined();
  const guarded = simulation(NONE, onPath('has(args.token)'));
  expect(guarded(recorded({ token: 'a' }))).toMatchObject({ after: 'deny' });
  const either = simulation(NONE, onPath('args.note == "a" || args.path == "/etc"'));
  expect(either(recorded({ note: LONG, path: '/etc' }))).toMatchObject({ after: 'deny' });
  expect(either(recorded({ note: LONG, path: '/tmp' }))).toBeUndefined();
  const withSecret = 'https://ada:hunter2@example.com/a';
  expect(either(recorded({ note: withSecret, path: '/etc' }))).toMatchObject({ after: 'deny' });
  expect(either(recorded({ note: withSecret, path: '/tmp' }))).toBeUndefined();
  const nested = simulation(NONE, onPath('args.a.b.exists(x, x == "y")'));
  expect(nested(recorded({ a: { b: ['y', LONG] } }))).toMatchObject({ after: 'deny' });
  expect(nested(recorded({ a: { b: ['z', LONG] } }))).toBeUndefined();
});

verifies('G3', 'a path or URL that was redacted or cut is neither inside nor outside of a place', () => {
  const inside = simulation(NONE, onPath('!path.inside(args.path, "/team")'));
  expect(inside(recorded({ path: '/team/../etc' }))).toMatchObject({ after: 'deny' });
  expect(inside(recorded({ path: '/team/a' }))).toMatchObject({ after: 'allow' });
  expect(inside(recorded({ path: `/team/${LONG}` }))).toBeUndefined();
  const host = simulation(NONE, onPath('!host.is(args.url, "*.example.com")'));
  expect(host(recorded({ url: 'https://a.example.com/' }))).toMatchObject({ after: 'allow' });
  expect(host(recorded({ url: `https://a.example.com/${LONG}` }))).toBeUndefined();
  expect(host(recorded({ url: 'https://ada:hunter2@a.example.com/' }))).toBeUndefined();
  const listed = simulation(NONE, onPath('args.l.exists(p, !path.inside(p, "/team"))'));
  expect(listed(recorded({ l: ['/team/a', `/team/${LONG}`] }))).toBeUndefined();
  expect(listed(recorded({ l: ['/etc', `/team/${LONG}`] }))).toMatchObject({ after: 'deny' });
});

verifies('G3', 'arguments that were cut as a whole decide nothing that reads them', () => {
  const input = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`field${at}`, 'y'.repeat(190)]));
  expect(simulation(NONE, onPath('has(args.path)'))(recorded(input))).toBeUndefined();
  expect(simulation(NONE, onPath('caller.id == "ada"', 'ask'))(recorded(input))).toMatchObject({ after: 'ask' });
});

verifies('G3', 'a rule that both policies share, and one that cannot change the effect, leave a call decidable', () => {
  const shared = aRule({ name: 'shared', tools: ['mcp__demo'], when: 'args.token == "a"' });
  const other = aRule({ name: 'other', tools: ['mcp__mail'] });
  const simulate = simulation({ ...OPEN, rules: [shared] }, { ...OPEN, rules: [shared, other] });
  expect(simulate(recorded({ token: 'a' }))).toMatchObject({ before: 'allow', after: 'allow' });
  const denied = aRule({ name: 'all', tools: ['mcp__demo'] });
  const both = simulation({ ...OPEN, rules: [denied] }, { ...OPEN, rules: [denied, shared] });
  expect(both(recorded({ token: 'a' }))).toMatchObject({ before: 'deny', after: 'deny' });
});

verifies('G3', 'a hidden value that may look sensitive counts the same in both policies', () => {
  const guarded = { ...OPEN, mode: 'guarded' as const };
  const ask = aRule({ name: 'ask', effect: 'ask', tools: ['mcp__demo'] });
  expect(simulation(guarded, guarded)(recorded({ note: LONG }))).toMatchObject({ before: 'allow', after: 'allow' });
  expect(simulation(guarded, { ...guarded, rules: [ask] })(recorded({ note: LONG }))).toBeUndefined();
  const reads = aTarget({ facts: { readOnly: true } });
  expect(simulation(guarded, { ...guarded, rules: [ask] })(recorded({ note: LONG }, reads))).toMatchObject({
    after: 'ask',
  });
});

verifies('G3', 'labels that were not recorded make only rules on labels undecidable', () => {
  const simulate = simulation(NONE, onPath('"private" in taint'));
  expect(simulate(recorded({}))).toBeUndefined();
  expect(simulate(recorded({}, aTarget(), { taint: ['private'] }))).toMatchObject({ after: 'deny' });
  expect(simulation(NONE, onPath('has(args.a)'))(recorded({ a: 1 }))).toMatchObject({ after: 'deny' });
});

verifies('G3', 'equals deciding each call anew', () => {
  const current = onPath('has(args.n) && args.n > 5', 'ask');
  const candidate = withRules(
    { name: 'r', tools: ['mcp__demo'], when: 'has(args.n) && args.n + 1 > 8', effect: 'ask' },
    { name: 's', when: 'caller.id == "ada" && has(args.path) && args.path.matches("^/etc")', effect: 'deny' },
  );
  const simulate = simulation(current, candidate);
  const [before, after] = [decider(current), decider(candidate)];
  for (let n = 0; n < 200; n++) {
    const input = { n: n % 11, ...(n % 3 === 0 && { path: n % 2 === 0 ? '/etc/x' : '/tmp' }) };
    const sent = { kind: 'tool' as const, input, time: 1000 };
    expect(simulate(recorded(input))).toMatchObject({
      before: before(ada, aTarget(), sent).effect,
      after: after(ada, aTarget(), sent).effect,
    });
  }
});

verifies('G3', 'takes no administrative record for a call', () => {
  const record = (detail: JsonObject) => isOpening({ phase: 'intent', detail });
  expect(record({ tool: 'digest', decision: 'ask' })).toBe(true);
  expect(record({ standing: 'sa_1', tool: 'mcp__demo__echo' })).toBe(false); // `approvals.standing.add`
});
