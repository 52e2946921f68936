import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { ServerEntry } from '../../config/schema/schema.ts';
import type { Facts } from '../../core/call/facts.ts';
import type { JsonObject } from '../../core/call.ts';
import { plainFacts } from '../../core/fixtures.ts';
import { anEntry, catalogOf, tool } from '../fixtures.ts';
import { factsOf, strictest } from './facts.ts';

type Case = readonly [what: string, said: JsonObject, entry: ServerEntry, expected: Partial<Facts>];

const untrusted = anEntry();
const trusted = anEntry({ trusted: true });
const set = (facts: NonNullable<ServerEntry['tools'][string]>, more = {}) => anEntry({ tools: { t: facts }, ...more });
const hints = (annotations: JsonObject) => ({ annotations });
const own = (facts: JsonObject) => ({ _meta: { 'dev.heddle/tool': facts } });

const CASES: readonly Case[] = [
  ['nothing said', {}, untrusted, plainFacts],
  ['read-only is not believed', hints({ readOnlyHint: true }), untrusted, { readOnly: false, riskLevel: 'medium' }],
  ['idempotent is not believed', hints({ idempotentHint: true }), untrusted, { idempotent: false }],
  ['destructive is believed', hints({ destructiveHint: true }), untrusted, { destructive: true, riskLevel: 'high' }],
  ['a milder risk is not believed', own({ riskLevel: 'low' }), untrusted, { riskLevel: 'medium' }],
  ['a stricter risk is believed', own({ riskLevel: 'high' }), untrusted, { riskLevel: 'high' }],
  ['a wish for approval is believed', own({ requiresApproval: true }), untrusted, { requiresApproval: true }],
  ['a longer timeout is not believed', own({ timeout: 90_000 }), untrusted, { timeoutMs: 30_000 }],
  ['a shorter timeout is believed', own({ timeout: 100 }), untrusted, { timeoutMs: 100 }],
  ['a timeout up to the server’s', own({ timeout: 90_000 }), anEntry({ timeoutMs: 50_000 }), { timeoutMs: 50_000 }],
  ['both hints at once', hints({ readOnlyHint: true, destructiveHint: true }), untrusted, { destructive: true }],
  ['trusted: read-only', hints({ readOnlyHint: true }), trusted, { readOnly: true, riskLevel: 'low' }],
  ['trusted: the older words', hints({ readOnly: true }), trusted, { readOnly: true, riskLevel: 'low' }],
  ['trusted: destructive of old', hints({ destructive: true }), trusted, { destructive: true, riskLevel: 'high' }],
  ['read-only tools may run side by side', {}, set({ readOnly: true }), { concurrent: true }],
  ['side by side is not believed', hints({ safeToRunConcurrently: true }), untrusted, { concurrent: false }],
  ['trusted: side by side', hints({ safeToRunConcurrently: true }), trusted, { concurrent: true, readOnly: false }],
  ['a closed world is not believed', hints({ openWorldHint: false }), untrusted, { openWorld: true }],
  ['trusted: a closed world', hints({ openWorldHint: false }), trusted, { openWorld: false }],
  ['trusted: idempotent', hints({ idempotentHint: true }), trusted, { idempotent: true }],
  [
    'trusted: a milder risk',
    { ...hints({ destructiveHint: true }), ...own({ riskLevel: 'low' }) },
    trusted,
    { riskLevel: 'low' },
  ],
  ['trusted: a longer timeout', own({ timeout: 90_000 }), trusted, { timeoutMs: 90_000 }],
  ['a hint that is not true itself', hints({ readOnlyHint: 'true' }), trusted, { readOnly: false }],
  ['a risk that is none', own({ riskLevel: 'none' }), trusted, { riskLevel: 'medium' }],
  [
    'config: read-only',
    hints({ destructiveHint: true }),
    set({ readOnly: true }),
    { readOnly: true, destructive: false, riskLevel: 'low' },
  ],
  [
    'config: not read-only',
    hints({ readOnlyHint: true }),
    set({ readOnly: false }, { trusted: true }),
    { readOnly: false },
  ],
  ['config: a milder risk', own({ riskLevel: 'high' }), set({ riskLevel: 'low' }), { riskLevel: 'low' }],
  [
    'config: no approval',
    own({ requiresApproval: true }),
    set({ requiresApproval: false }),
    { requiresApproval: false },
  ],
  ['config: idempotent', {}, set({ idempotent: true }), { idempotent: true }],
  ['config: timeout of the tool', own({ timeout: 5 }), set({ timeoutMs: 70 }, { timeoutMs: 60 }), { timeoutMs: 70 }],
  ['config: timeout of the server', {}, anEntry({ timeoutMs: 60 }), { timeoutMs: 60 }],
  ['category: config', own({ category: 'own' }), set({ category: 'set' }, { category: 'server' }), { category: 'set' }],
  [
    'trusted: the tool’s own category',
    own({ category: 'own' }),
    anEntry({ category: 'server', trusted: true }),
    { category: 'own' },
  ],
  [
    'category: the server’s over a claim',
    own({ category: 'own' }),
    anEntry({ category: 'server' }),
    { category: 'server' },
  ],
  ['category: a claim', own({ category: 'own' }), untrusted, { category: 'own', isCategoryClaimed: true }],
  ['trusted: a cost', own({ costPerCall: 9 }), trusted, { costPerCall: 9 }],
  ['category: the server’s', {}, anEntry({ category: 'server' }), { category: 'server' }],
  [
    'facts in a harness object',
    { harness: { category: 'own', riskLevel: 'high' } },
    untrusted,
    { category: 'own', riskLevel: 'high' },
  ],
  [
    'a rate limit of its own',
    own({ rateLimit: { maxCalls: 1, windowMs: 2 } }),
    untrusted,
    { rateLimit: { maxCalls: 1, windowMs: 2 } },
  ],
];

for (const [what, said, entry, expected] of CASES) {
  verifies('C4', `facts: ${what}`, () => {
    expect(factsOf(tool('t', said), { entry, builtin: false })).toMatchObject(expected);
  });
}

verifies('C4', 'ignores the cost that an untrusted server claims: callers share one budget over all servers', () => {
  const facts = factsOf(tool('t', own({ costPerCall: 1e9 })), { entry: untrusted, builtin: false });
  expect(facts).toEqual(plainFacts);
});

verifies('C4', 'ignores facts of the wrong type', () => {
  const said = own({ category: 7, timeout: -1, rateLimit: { maxCalls: 'many', windowMs: 1 }, requiresApproval: 'no' });
  expect(factsOf(tool('t', said), { entry: trusted, builtin: false })).toEqual(plainFacts);
  expect(
    factsOf(tool('t', { _meta: [], annotations: 'x', harness: null }), { entry: trusted, builtin: false }),
  ).toEqual(plainFacts);
});

verifies('R8', 'trusts the annotations of built-in tools', () => {
  const facts = factsOf(tool('t', hints({ readOnlyHint: true })), { entry: untrusted, builtin: true });
  expect(facts).toMatchObject({ builtin: true, readOnly: true, riskLevel: 'low' });
});

verifies('C4', 'handles tools named like members of Object.prototype', () => {
  const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
  const catalog = catalogOf({ s: [names.map((name) => tool(name)), anEntry()] });
  expect(catalog.targets.map(({ name }) => name).sort()).toEqual([...names].sort());
  for (const { facts } of catalog.targets) expect(facts).toEqual(plainFacts);
  for (const name of names) expect(catalog.find(`s.${name}`)).toMatchObject({ name });
  expect(catalog.called('constructor')).toHaveLength(1);
  expect(catalog.find('valueOf')).toBeUndefined();
});

verifies('C8', 'believes only a built-in server that each call of a tool needs an approval', () => {
  const definition = tool('db_execute', own({ approval: 'always' }));
  expect(factsOf(definition, { entry: untrusted, builtin: true }).approval).toBe('always');
  for (const entry of [untrusted, trusted, undefined]) {
    expect(factsOf(definition, { entry, builtin: false }).approval).toBeUndefined();
  }
  expect(factsOf(tool('t', own({ approval: 'never' })), { entry: untrusted, builtin: true }).approval).toBeUndefined();
  expect(strictest([plainFacts, { ...plainFacts, approval: 'always' }]).approval).toBe('always');
  expect(strictest([plainFacts, plainFacts]).approval).toBeUndefined();
});

verifies('G3', 'gives the rules of an organisation stricter facts if settings of the user make a tool milder', () => {
  const said = tool('t', {
    ...hints({ destructiveHint: true, readOnlyHint: true }),
    ...own({ requiresApproval: true }),
  });
  const loose = { readOnly: true, riskLevel: 'low', idempotent: true, requiresApproval: false } as const;
  const user = factsOf(said, { entry: set(loose), builtin: false });
  expect(user).toMatchObject({ ...loose, destructive: false });
  const strict = { readOnly: false, riskLevel: 'high', idempotent: false, requiresApproval: true, destructive: true };
  expect(user.forManagedRules).toMatchObject(strict);
  expect(factsOf(said, { entry: trusted, builtin: false }).forManagedRules).toMatchObject({ destructive: true });
  expect(factsOf(said, { entry: set(loose), builtin: false, isManaged: true }).forManagedRules).toBeUndefined();
  expect(factsOf(said, { entry: untrusted, builtin: false }).forManagedRules).toBeUndefined();
  const stricter = factsOf(tool('t'), { entry: set({ requiresApproval: true, riskLevel: 'high' }), builtin: false });
  expect((stricter.forManagedRules ?? stricter).requiresApproval).toBe(true);
  expect(strictest([plainFacts, user]).forManagedRules).toMatchObject(strict);
});
