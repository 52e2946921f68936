import { cutText } from '../core/text/cut-text.ts';
import { oneLine } from '../core/text/visible-text.ts';

/** The instructions of one server, without control characters other than line breaks and tabs. */
export interface ServerInstructions {
  readonly server: string;
  readonly text: string;
}

/** The most characters of joined instructions: a host puts them into the prompt of its model. */
export const MAX_INSTRUCTIONS_CHARS = 4096;

// A section of fewer characters says nothing, so sections that do not fit are left out.
const SHORTEST_SECTION = 128;
const BETWEEN = '\n\n';

/**
 * Joins the instructions of servers in the order of their names, at most 4,096 characters: a section for each, which
 * begins with the name of the server. The lines of a server begin with `> `, so no text can look like the section of
 * another server. Each server has an equal share; what it does not need goes to the others. Returns undefined for none.
 */
export function joinInstructions(all: readonly ServerInstructions[]): string | undefined {
  const sections = all
    .filter(({ text }) => text.trim() !== '')
    .sort((one, other) => (one.server < other.server ? -1 : 1))
    .map(toSection);
  if (sections.length === 0) return undefined;
  const most = Math.floor(MAX_INSTRUCTIONS_CHARS / (SHORTEST_SECTION + BETWEEN.length));
  const missing = sections.length - most;
  if (missing <= 0) return cutToShares(sections, MAX_INSTRUCTIONS_CHARS).join(BETWEEN);
  const last = `… [${missing + 1} more servers have instructions]`;
  const shown = cutToShares(sections.slice(0, most - 1), MAX_INSTRUCTIONS_CHARS - last.length - BETWEEN.length);
  return [...shown, last].join(BETWEEN);
}

function toSection({ server, text }: ServerInstructions): string {
  const lines = cutText(text.trim(), MAX_INSTRUCTIONS_CHARS).split('\n');
  return [`# Server ${oneLine(server)}`, ...lines.map((line) => `> ${line}`.trimEnd())].join('\n');
}

/** Cuts sections so that they have at most `max` characters when joined. The shortest takes its share first. */
function cutToShares(sections: readonly string[], max: number): readonly string[] {
  const cut = new Map<string, string>();
  let left = max - BETWEEN.length * (sections.length - 1);
  let count = sections.length;
  for (const section of sections.toSorted((one, other) => one.length - other.length)) {
    const shown = cutText(section, Math.floor(left / count--));
    cut.set(section, shown);
    left -= shown.length;
  }
  return sections.map((section) => cut.get(section) ?? section);
}
