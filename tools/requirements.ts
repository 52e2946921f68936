// `npm run requirements`: prints the progress of each requirement, and writes docs/requirements.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REQUIREMENTS } from '../test/requirements.ts';
import { findCitations } from './citations.ts';

const ROOT = join(import.meta.dirname, '..');

type Progress = 'done' | 'in part' | 'not yet';

interface RequirementRow {
  readonly id: string;
  readonly does: string;
  readonly progress: Progress;
  readonly files: readonly string[];
}

/** Returns the current text of docs/requirements.md. */
export function requirementsPage(root: string): string {
  const lines = progress(root);
  return `# Requirements and progress

Written by \`npm run requirements\` from \`test/requirements.ts\`; do not edit it here. *Done*: met in full.
*In part*: some tests cover a part of it. *Not yet*: no test covers it.

${summary(lines).join(' · ')}

| id | requirement | progress | tests |
|---|---|---|---|
${lines.map(row).join('\n')}
`;
}

function progress(root: string): readonly RequirementRow[] {
  const citations = findCitations(root);
  return Object.entries(REQUIREMENTS).map(([id, { does, done }]) => {
    const files = citations.get(id) ?? [];
    return { id, does, files, progress: done ? 'done' : files.length > 0 ? 'in part' : 'not yet' };
  });
}

function summary(lines: readonly RequirementRow[]): readonly string[] {
  return (['done', 'in part', 'not yet'] as const).map(
    (kind) => `${lines.filter((line) => line.progress === kind).length} ${kind}`,
  );
}

function row({ id, does, progress: kind, files }: RequirementRow): string {
  const proofs = files.map((file) => `[${file}](../${file})`).join(', ');
  return `| ${id} | ${does.replaceAll('|', '\\|')} | ${kind} | ${proofs} |`;
}

function print(lines: readonly RequirementRow[]): void {
  for (const kind of ['done', 'in part', 'not yet'] as const) {
    const ids = lines.filter((line) => line.progress === kind).map((line) => line.id);
    process.stdout.write(`${String(ids.length).padStart(3)} ${kind.padEnd(7)}  ${ids.join(' ')}\n`);
  }
}

if (import.meta.main) {
  writeFileSync(join(ROOT, 'docs', 'requirements.md'), requirementsPage(ROOT));
  print(progress(ROOT));
}
