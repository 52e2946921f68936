// Profiles the gateway under load: prints self time by function and by file.
// node bench/profile.ts [--calls 20000] [--kind stdio]
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { load, openClient } from './load-client.ts';
import { CANDIDATES, withGateway } from './measure-gateway.ts';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const ROOT = join(import.meta.dirname, '..');
const SHOWN = 25;
const CLIENTS = 32;

const { values } = parseArgs({
  options: { calls: { type: 'string', default: '20000' }, kind: { type: 'string', default: 'stdio' } },
});
const heddle = CANDIDATES.find(({ name, kind }) => name === 'heddle' && kind === values.kind);
if (!heddle) throw new Error('--kind is stdio or http.');

const folder = mkdtempSync(join(tmpdir(), 'heddle-profile-'));
try {
  await withGateway(heddle, ['--cpu-prof', `--cpu-prof-dir=${folder}`], async ({ url, token }) => {
    const client = await openClient(url, token);
    await load(
      () => client.echo('hello world, this is a small payload of ordinary size'),
      Number(values.calls),
      CLIENTS,
    );
    client.close();
  });
  const [file] = readdirSync(folder);
  if (!file) throw new Error('The gateway left no profile.');
  print(JSON.parse(readFileSync(join(folder, file), 'utf8')));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function print({ nodes, samples, timeDeltas }: Profile): void {
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const functions = new Map<string, number>();
  const files = new Map<string, number>();
  const add = (sums: Map<string, number>, key: string, time: number) => sums.set(key, (sums.get(key) ?? 0) + time);
  let busy = 0;
  for (const [index, id] of samples.entries()) {
    const frame = byId.get(id);
    const time = timeDeltas[index] ?? 0;
    if (!frame || frame.functionName === '(idle)') continue;
    busy += time;
    const file = fileOf(frame.url);
    add(functions, `${frame.functionName || '(anonymous)'}  ${file}:${frame.lineNumber + 1}`, time);
    add(files, file, time);
  }
  for (const [title, sums] of Object.entries({ function: functions, file: files })) {
    process.stdout.write(`\nShare of busy time by ${title}\n`);
    const top = [...sums].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
    for (const [key, time] of top) process.stdout.write(`${((100 * time) / busy).toFixed(1).padStart(5)} %  ${key}\n`);
  }
}

function fileOf(url: string): string {
  if (!url.startsWith('file:')) return url || '(native)';
  return relative(ROOT, fileURLToPath(url));
}
