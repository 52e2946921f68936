import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { readCandidate } from '../../src/compose/policy/read-candidate.ts';
import { simulateCalls } from '../../src/compose/policy/simulate-calls.ts';
import type { Effect, JsonObject, Target } from '../../src/core/call.ts';
import { aCall, ada, aTarget, grace } from '../../src/core/fixtures.ts';
import { decider, type Policy } from '../../src/govern/decide.ts';
import { realStore } from '../../src/govern/fixtures.ts';
import { openingRecord } from '../../src/govern/opening-record.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const CALLS = MEASURES ? 100_000 : 20_000;
const LONG = 'x'.repeat(300);
const tool = (name: string) => aTarget({ publicName: `mcp__demo__${name}`, name, group: 'demo', shownAs: name });
const TOOLS = ['plain', 'path', 'token', 'note', 'changed'].map(tool) as [Target, ...Target[]];

const rule = (name: string, effect: Effect, tools: readonly string[], when: string) => ({
  ...{ name, effect, tools, when },
  reason: `The rule ${name}.`,
});
const CURRENT = [
  rule('amount', 'ask', ['mcp__demo'], 'has(args.n) && args.n > 15'),
  rule('path', 'deny', ['mcp__demo__path'], 'args.path.startsWith("/etc")'),
];
const CANDIDATE = [
  rule('amount', 'ask', ['mcp__demo'], 'has(args.n) && args.n + 1 > 12'),
  rule('token', 'deny', ['mcp__demo__token'], 'has(args.token) && args.token == "abc"'),
  rule('note', 'deny', ['mcp__demo__note'], 'has(args.note) && args.note.contains("now")'),
];

/** Returns pseudo-random integers below a limit, the same in every run. */
function numbers() {
  let state = 1;
  return (limit: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % limit;
  };
}

interface MadeCall {
  readonly target: Target;
  readonly input: JsonObject;
  readonly isOld: boolean;
}

function makeCalls(): readonly MadeCall[] {
  const next = numbers();
  return Array.from({ length: CALLS }, () => ({
    target: TOOLS[next(TOOLS.length)] ?? TOOLS[0],
    input: {
      n: next(21),
      path: ['/etc/hosts', '/tmp/x', LONG][next(3)],
      ...(next(2) === 0 && { token: ['abc', 'def'][next(2)] }),
      ...(next(2) === 0 && { note: ['now', 'later', LONG][next(3)] }),
    },
    isOld: next(2) === 0,
  }));
}

type Verdict = 'unchanged' | 'undecidable' | Effect;

/** Returns true if the definition has changed, or if a rule of the candidate alone reads a hidden argument. */
const isUnreadable = ({ target: { name }, input, isOld }: MadeCall) =>
  (name === 'changed' && isOld) ||
  (name === 'token' && input.token !== undefined) ||
  (name === 'note' && input.note === LONG);

/** Returns the verdict on each call itself. It knows which rules read a hidden argument. */
function verdicts(before: Policy, after: Policy): (call: MadeCall) => Verdict {
  const deciderOf = (policy: Policy, without?: string) =>
    decider({ ...policy, rules: (policy.rules ?? []).filter(({ name }) => name !== without) });
  const all = [deciderOf(before), deciderOf(after)] as const;
  const others = [deciderOf(before, 'path'), deciderOf(after, 'path')] as const;
  return ({ target, input, isOld }) => {
    const effects = (decides: typeof all) =>
      decides.map((decide) => decide(ada, target, { kind: 'tool', input }).effect);
    if (isUnreadable({ target, input, isOld })) return 'undecidable';
    const isHidden = target.name === 'path' && input.path === LONG;
    const [one, two = 'allow'] = effects(isHidden ? others : all);
    if (one === two) return 'unchanged';
    // Both policies have the hidden rule, so it matters only if the others differ.
    return isHidden ? 'undecidable' : two;
  };
}

verifies(
  'G3',
  `the simulation of ${CALLS} calls equals deciding each anew, and its undecidable calls are exact`,
  async () => {
    const folder = await temporaryFolder();
    const store = await realStore();
    const written = async (name: string, policies: readonly JsonObject[]) => {
      await writeFile(join(folder, name), JSON.stringify({ policies }));
      return join(folder, name);
    };
    const policyOf = async (file: string): Promise<Policy> => ({
      mode: 'open',
      permissions: { allow: [], ask: [], deny: [] },
      servers: new Map(),
      rules: await readCandidate(file),
    });
    const current = await policyOf(await written('current.json', CURRENT));
    const candidate = await written('candidate.json', CANDIDATE);
    const path = current.rules?.filter(({ name }) => name === 'path') ?? [];
    const after: Policy = { ...current, rules: [...path, ...(await readCandidate(candidate))] };

    const calls = makeCalls();
    for (const [at, { target, input, isOld }] of calls.entries()) {
      const digest = isOld && target.name === 'changed' ? 'old' : target.digest;
      store.audit.append(openingRecord(aCall({ id: `call-${at}`, target: { ...target, digest }, input }), 1000 + at));
    }
    await store.audit.appendDurably({ ...openingRecord(aCall(), 0)(), name: 'end', detail: {} });

    const byName = new Map(TOOLS.map((target) => [target.publicName, target]));
    const catalog = { find: (name: string) => byName.get(name), called: () => [] };
    const simulation = await simulateCalls(
      {
        catalog: { current: () => catalog } as never,
        active: () => ({ policy: current }) as never,
        audit: store.audit,
      },
      grace,
      { candidate, since: 0, signal: new AbortController().signal },
    );
    const tally = Object.fromEntries(
      [...Map.groupBy(calls, verdicts(current, after))].map(([verdict, all]) => [verdict, all.length]),
    );
    expect(simulation).toMatchObject({
      calls: CALLS,
      unchanged: tally.unchanged,
      newlyAsked: tally.ask,
      newlyDenied: tally.deny,
      newlyAllowed: tally.allow ?? 0,
      undecidable: tally.undecidable,
    });
    expect(Math.min(...Object.values(tally))).toBeGreaterThan(CALLS / 100);
  },
);
