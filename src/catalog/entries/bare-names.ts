import type { Target } from '../../core/call.ts';
import { skeleton } from './confusable.ts';
import { catalogEntryOf } from './entry.ts';
import { isLegal, nameAll } from './naming.ts';

export interface BareNames {
  readonly byName: ReadonlyMap<string, Target>;
  /** Messages about tools that keep their public names. */
  readonly problems: readonly string[];
}

/**
 * Names tools by their bare names, without the server. If two bare names are the same or look alike, both tools keep
 * their public names, and a problem reports it.
 */
export function bareNames(targets: readonly Target[]): BareNames {
  const bareOf = (target: Target) => catalogEntryOf(target).tool.shownAs;
  const alike = Map.groupBy(targets, (target) => skeleton(bareOf(target)));
  const isAlone = (target: Target) => alike.get(skeleton(bareOf(target)))?.length === 1;
  const taken = new Set(targets.map(({ publicName }) => publicName));
  const mayBeBare = (target: Target) => isAlone(target) && !taken.has(bareOf(target));
  const byName = nameAll(targets, (target, level) =>
    level === 0 && isLegal(bareOf(target)) && mayBeBare(target) ? bareOf(target) : target.publicName,
  );
  const shared = [...alike.values()].filter(({ length }) => length > 1);
  const problems = shared.map((same) => {
    const names = same.map(({ publicName }) => publicName).sort();
    return `${names.join(', ')} keep their public names: their own names are the same or look alike.`;
  });
  const forged = targets.filter((target) => isAlone(target) && taken.has(bareOf(target)));
  const refused = forged.map(
    ({ publicName }) => `${publicName} keeps its public name: its own is the public name of another.`,
  );
  return { byName, problems: [...problems, ...refused].sort() };
}
