import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { PrivateUser } from '../../core/call/private-user.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import { decider } from '../../govern/decide.ts';
import { liveCatalog } from '../live-catalog.ts';
import { isSignInTool, signInTool } from './sign-in-tool.ts';

const bob = { ...ada, id: 'bob' };
const userOf = ({ id }: { readonly id: string }): PrivateUser => ({ principal: id, capabilitySet: 0, era: 'modern' });

function setting() {
  const changes: string[] = [];
  const owners = new Map([['box', { entry: undefined, builtin: false }]]);
  const catalog = liveCatalog({
    owners,
    remembered: [],
    onChange: (list, { user } = {}) => changes.push(`${user?.principal} ${list}`),
  });
  const list = (caller: typeof ada, ...names: string[]) =>
    catalog.privately.put({
      server: 'box',
      user: userOf(caller),
      kind: 'tools',
      items: names.map((name) => ({ name })),
    });
  const names = (caller: typeof ada) => catalog.current(caller).targets.map(({ publicName }) => publicName);
  return { catalog, changes, list, names };
}

verifies('A6', 'replaces the lists of a user by the tool sign_in, and back', () => {
  const { catalog, changes, list, names } = setting();
  list(ada, 'read');
  list(bob, 'read', 'write');
  catalog.privately.requireSignIn('box', userOf(ada));
  expect([names(ada), names(bob)]).toEqual([['mcp__box__sign_in'], ['mcp__box__read', 'mcp__box__write']]);
  list(ada, 'read');
  expect(names(ada)).toEqual(['mcp__box__read']);
  expect(changes).toEqual(['ada tools', 'bob tools', 'ada tools', 'ada tools']);
});

verifies('A6', 'allows the tool sign_in in every mode, and no tool of a server that looks the same', () => {
  const { catalog, list } = setting();
  catalog.privately.requireSignIn('box', userOf(ada));
  const forged = JSON.parse(JSON.stringify(signInTool('box'))) as JsonObject;
  catalog.privately.put({ server: 'box', user: userOf(bob), kind: 'tools', items: [forged] });
  const permissions = { allow: [], ask: [], deny: [] };
  const effects = (mode: 'strict' | 'guarded' | 'open', caller: Caller) => {
    const decide = decider({ mode, permissions, servers: new Map() });
    return catalog.current(caller).targets.map((target) => [isSignInTool(target), decide(caller, target).effect]);
  };
  for (const mode of ['strict', 'guarded', 'open'] as const) expect(effects(mode, ada)).toEqual([[true, 'allow']]);
  expect(effects('strict', bob)).toEqual([[false, 'ask']]);
  list(ada);
});

it('builds one catalog for users with the same lists', () => {
  const { catalog, list } = setting();
  list(ada, 'read');
  list(bob, 'read');
  expect(catalog.current(ada)).toBe(catalog.current(bob));
  list(bob, 'other');
  expect(catalog.current(ada)).not.toBe(catalog.current(bob));
});
