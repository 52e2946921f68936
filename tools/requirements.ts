// `npm run requirements`: says what is done and what is not yet, and writes docs/requirements.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REQUIREMENTS } from '../test/requirements.ts';
import { findCitations } from './citations.ts';

const ROOT = join(import.meta.dirname, '..');

type Progress = 'done' | 'in part' | 'not yet';

interface Line {
  readonly id: string;
  readonly does: string;
  readonly progress: Progress;
  readonly files: readonly string[];
}

/** docs/requirements.md as it should read now. */
export function requirementsPage(root: string): string {
  const lines = progress(root);
  return `# What Heddle is to be, and what it is already

Written by \`npm run requirements\` from \`test/requirements.ts\`; do not edit it here. *Done*: met in full.
*In part*: some tests prove a part of it. *Not yet*: nothing is claimed.

${summary(lines).join(' · ')}

| id | what | progress | proved in |
|---|---|---|---|
${lines.map(row).join('\n')}
`;
}

function progress(root: string): readonly Line[] {
  const citations = findCitations(root);
  return Object.entries(REQUIREMENTS).map(([id, { does, done }]) => {
    const files = citations.get(id) ?? [];
    return { id, does, files, progress: done ? 'done' : files.length > 0 ? 'in part' : 'not yet' };
  });
}

function summary(lines: readonly Line[]): readonly string[] {
  return (['done', 'in part', 'not yet'] as const).map(
    (kind) => `${lines.filter((line) => line.progress === kind).length} ${kind}`,
  );
}

function row({ id, does, progress: kind, files }: Line): string {
  const proofs = files.map((file) => `[${file}](../${file})`).join(', ');
  return `| ${id} | ${does.replaceAll('|', '\\|')} | ${kind} | ${proofs} |`;
}

function print(lines: readonly Line[]): void {
  for (const kind of ['done', 'in part', 'not yet'] as const) {
    const ids = lines.filter((line) => line.progress === kind).map((line) => line.id);
    process.stdout.write(`${String(ids.length).padStart(3)} ${kind.padEnd(7)}  ${ids.join(' ')}\n`);
  }
}

if (import.meta.main) {
  writeFileSync(join(ROOT, 'docs', 'requirements.md'), requirementsPage(ROOT));
  print(progress(ROOT));
}
