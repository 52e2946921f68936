import type { Finding } from '../core/records/finding.ts';
import type { Catalog } from './catalog.ts';

const MAX_NAMES = 5;

/** Names the tools with patterns in their schemas that are not checked. */
export function examinePatterns({ targets }: Pick<Catalog, 'targets'>): readonly Finding[] {
  const found = targets.flatMap(({ publicName, uncheckedPatterns: patterns = [] }) =>
    patterns.length === 0 ? [] : [{ name: publicName, patterns }],
  );
  if (found.length === 0) return [];
  const names = found.slice(0, MAX_NAMES).map(({ name }) => name);
  const more = found.length > MAX_NAMES ? ` and ${found.length - MAX_NAMES} more` : '';
  return [
    {
      level: 'warn',
      subject: 'patterns',
      message: `Some patterns in the schemas of ${names.join(', ')}${more} are not checked: they have look-around or other syntax that takes more than linear time, or are too large.`,
      fix: 'Run `heddle describe <tool>` to see them. The server has to check these values itself.',
      facts: { tools: found },
    },
  ];
}
