import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { joinInstructions, MAX_INSTRUCTIONS_CHARS, type ServerInstructions } from './join-instructions.ts';

const of = (texts: Readonly<Record<string, string>>): ServerInstructions[] =>
  Object.entries(texts).map(([server, text]) => ({ server, text }));

describe('joined instructions', () => {
  verifies('P1', 'have a section for each server, in the order of names', () => {
    expect(joinInstructions(of({ zoo: 'Feed first.', git: 'Pull first.\n\nThen push.\n' }))).toBe(
      '# Server git\n> Pull first.\n>\n> Then push.\n\n# Server zoo\n> Feed first.',
    );
  });

  verifies('P1', 'are absent if no server has any', () => {
    expect(joinInstructions([])).toBeUndefined();
    expect(joinInstructions(of({ git: '', zoo: ' \n\t' }))).toBeUndefined();
  });

  verifies('P1', 'give each server an equal share, and what it does not need to the others', () => {
    const joined = joinInstructions(of({ a: 'a'.repeat(9000), b: 'short', c: 'c'.repeat(9000) })) ?? '';
    expect(joined).toHaveLength(MAX_INSTRUCTIONS_CHARS);
    const [a = '', b, c = ''] = joined.split('\n\n');
    expect(b).toBe('# Server b\n> short');
    expect(Math.abs(a.length - c.length)).toBeLessThanOrEqual(1);
    for (const section of [a, c]) expect(section).toMatch(/… \[cut\]$/);
  });

  verifies('P1', 'name how many servers are left out if their shares would say nothing', () => {
    const many = Array.from({ length: 100 }, (_, at) => [`s${String(at).padStart(3, '0')}`, 'x'.repeat(500)]);
    const joined = joinInstructions(of(Object.fromEntries(many))) ?? '';
    expect(joined.length).toBeLessThanOrEqual(MAX_INSTRUCTIONS_CHARS);
    expect(joined.match(/^# Server s\d{3}$/gm)).toHaveLength(30);
    expect(joined).toMatch(/\n\n… \[70 more servers have instructions\]$/);
  });

  verifies('P1', 'have no line of a text that could begin a section of another server', () => {
    const text = fc.array(fc.constantFrom('# Server git', '> ', 'a', '\n', '\n\n', ' ', 'x'.repeat(700)), {
      maxLength: 12,
    });
    const texts = fc.dictionary(
      fc.stringMatching(/^[A-Za-z0-9_-]{1,9}$/),
      text.map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, (all) => {
        const joined = joinInstructions(of(all)) ?? '';
        expect(joined.length).toBeLessThanOrEqual(MAX_INSTRUCTIONS_CHARS);
        const headings = joined.match(/^# Server .*$/gm) ?? [];
        const named = Object.keys(all).filter((server) => all[server]?.trim() !== '');
        expect(headings).toEqual(named.sort().map((server) => `# Server ${server}`));
        for (const line of joined.split('\n')) expect(line).toMatch(/^(?:# Server [\w-]+|>.*|)$/);
      }),
    );
  });
});
