import type { LiveCatalog } from '../catalog/live-catalog.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Caller } from '../core/call.ts';
import type { Decide } from '../govern/decide.ts';
import type { HidingRule } from '../heddle.ts';

interface View {
  readonly catalog: LiveCatalog;
  readonly servers: { status(): readonly { readonly name: string }[] };
  readonly serverVisible: (caller: Caller, server: string) => boolean;
  readonly rules: () => Decide;
}

/** Returns the rule that hides a tool of this name. Only the owner may learn it. */
export function hiddenBy(view: View, by: Caller, name: string): HidingRule | undefined {
  requireRole(by, ['owner']);
  const { catalog, servers, serverVisible, rules } = view;
  const known = catalog.current(by);
  const exact = known.find(name);
  const decisions = (exact ? [exact] : known.called(name)).map((target) => rules()(by, target));
  const denial = decisions.find(({ effect }) => effect === 'deny');
  if (denial) return { rule: denial.rule, reason: denial.reason };
  // A server whose entries are all denied is never started, so its tools are unknown.
  const named = servers.status().filter((server) => isOf(server.name, name));
  const hidden = named.find((server) => !serverVisible(by, server.name));
  return hidden && { rule: 'permissions.deny', reason: `All entries of ${hidden.name} are denied.` };
}

const isOf = (server: string, name: string) =>
  name === server || name.startsWith(`${server}.`) || name.startsWith(`mcp__${server}__`);
