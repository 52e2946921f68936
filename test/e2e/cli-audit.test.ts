import { readFileSync, writeFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { AuditEntry } from '../../src/core/records/audit-entry.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { type Project, project } from './heddle-command.ts';

const note = { 'note.txt': 'A short note.\n' };
const read = ['call', 'filesystem.fs_read_file', 'path=note.txt'];

async function outputOf({ heddle }: Project, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await heddle(args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

const searched = async (here: Project, ...args: readonly string[]): Promise<readonly AuditEntry[]> =>
  JSON.parse(await outputOf(here, 'audit', 'search', ...args, '--json'));

describe('heddle audit', () => {
  verifies('G11', 'search finds calls by field, time and text; show prints a call in full', async () => {
    const here = project(note);
    await outputOf(here, ...read);
    await here.heddle(['call', 'nothing.here']);
    const [opened] = await searched(here, 'name=mcp__filesystem__fs_read_file', '--since', '5m');
    const [end, start] = await searched(here, `callId=${opened?.callId}`);
    expect([start?.phase, end?.phase, end?.detail.outcome]).toEqual(['intent', 'outcome', 'ok']);
    expect(start?.detail).toMatchObject({ decision: 'allow', arguments: { path: 'note.txt' } });
    expect(await searched(here, 'arguments.path=note.txt')).toMatchObject([{ callId: start?.callId }]);
    expect(await searched(here, 'outcome=NAME_UNKNOWN')).toMatchObject([{ name: 'nothing.here' }]);
    expect(await searched(here, '--text', 'NOTE.TXT')).toMatchObject([{ callId: start?.callId }]);
    const shown = await outputOf(here, 'audit', 'show', String(start?.callId));
    expect(shown).toContain('"path": "note.txt"');
    expect(shown.indexOf('intent')).toBeLessThan(shown.indexOf('outcome'));
    const table = await outputOf(here, 'audit', 'search', 'phase=outcome', '--limit', '100', '--records');
    expect(table).toMatch(/^TIME +CALLER +VIA +PHASE +NAME +RESULT +CALL/);
    const unknown = await here.heddle(['audit', 'show', 'none']);
    expect([unknown.code, unknown.stdout]).toEqual([2, '']);
  });

  verifies(
    'G11',
    'search prints one row per call, with its arguments, cut; --records prints every record',
    async () => {
      const here = project({ ...note, [`${'n'.repeat(80)}.txt`]: 'long' });
      await outputOf(here, ...read);
      await outputOf(here, 'call', 'filesystem.fs_read_file', `path=${'n'.repeat(80)}.txt`);
      const rowsOf = (text: string) =>
        text
          .trimEnd()
          .split('\n')
          .map((row) => row.trimEnd().split(/ {2,}/));
      const [head, long, short, ...none] = rowsOf(await outputOf(here, 'audit', 'search'));
      expect(head).toEqual(['TIME', 'CALLER', 'VIA', 'NAME', 'RESULT', 'ARGUMENTS', 'CALL']);
      expect(short?.slice(2, 6)).toEqual(['cli', 'mcp__filesystem__fs_read_file', 'ok', '{"path":"note.txt"}']);
      expect(long?.[5]).toBe(`{"path":"${'n'.repeat(51)}…`);
      expect(none).toEqual([]);
      const one = await here.heddle(['audit', 'search', 'name=mcp__filesystem__fs_read_file', '--limit', '1']);
      expect([rowsOf(one.stdout).length, one.stderr]).toEqual([2, expect.stringContaining('There are more calls')]);
      const all = rowsOf(await outputOf(here, 'audit', 'search', 'via=cli', '--records'));
      expect(all.filter(([, , , phase]) => phase === 'intent' || phase === 'outcome').length).toBeGreaterThanOrEqual(4);
    },
  );

  verifies('G11', 'search prints the outcome of each call, also if it matches only its beginning', async () => {
    const here = project(note);
    await outputOf(here, ...read);
    await here.heddle(['call', 'filesystem.fs_read_file', 'path=missing.txt']);
    const rows = (await outputOf(here, 'audit', 'search', 'name=mcp__filesystem__fs_read_file')).split('\n');
    const results = rows.slice(1, 3).map((row) => row.split(/ {2,}/)[4]);
    expect(results).toEqual(['tool-error', 'ok']);
  });

  verifies('G11', 'search prints one row per record without a call', async () => {
    const here = project({ 'heddle.json': { mcpServers: { a: { command: 'true' }, b: { command: 'true' } } } });
    await here.heddle(['list', 'servers', '--check']);
    const all = await searched(here, 'name=servers.connect');
    expect(all.map(({ callId }) => callId)).toEqual(['', '', '']);
    const rows = (await outputOf(here, 'audit', 'search', 'name=servers.connect')).trimEnd().split('\n');
    expect(rows).toHaveLength(1 + all.length);
  });

  verifies('G11', 'each search, export, head and prune leaves a record without the searched text', async () => {
    const here = project(note);
    await outputOf(here, 'audit', 'head');
    await outputOf(here, 'audit', 'export');
    await here.heddle(['audit', 'search', '--text', 'hunter2', 'arguments.token=hunter3']);
    expect((await here.heddle(['audit', 'prune', '--before', '1d'])).code).toBe(2);
    await outputOf(here, 'audit', 'prune', '--before', '1d', '--yes');
    const records = await searched(here);
    expect(records.map(({ name, phase }) => `${name} ${phase}`).toReversed()).toEqual([
      'audit.checkpoint checkpoint',
      'audit.checkpoint checkpoint',
      'audit.search outcome',
      'audit.prune intent',
    ]);
    expect(JSON.stringify(records)).not.toMatch(/hunter[23]/);
  });

  verifies('G11', 'an export verifies on any machine, and an edited one does not', async () => {
    const here = project(note);
    await outputOf(here, ...read);
    await outputOf(here, 'audit', 'head');
    const text = await outputOf(here, 'audit', 'export');
    const file = join(here.folder, 'audit.jsonl');
    writeFileSync(file, text);
    const elsewhere = project();
    expect(await outputOf(elsewhere, 'audit', 'verify', file)).toMatch(
      /^4 records in \d segments with 2 checkpoints: all intact\. Removed newest records cannot be seen .+--head`\.\n$/,
    );
    writeFileSync(file, text.replace('note.txt', 'nope.txt'));
    const edited = await elsewhere.heddle(['audit', 'verify', file]);
    expect(edited).toMatchObject({ code: 1, stdout: expect.stringMatching(/^changed {2}[\w-]+ 1 {2}/) });
  });

  verifies('G11', 'verify --head finds a cut tail', async () => {
    const here = project(note);
    await outputOf(here, ...read);
    const head = (await outputOf(here, 'audit', 'head')).trim();
    expect(head).toMatch(/^[\w-]+ \d+ [0-9a-f]{64}$/);
    expect(await outputOf(here, 'audit', 'verify', '--head', head)).toMatch(
      /all intact\. No record up to the kept head is missing\.\n$/,
    );
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(join(here.home, 'heddle.sqlite'));
    db.exec(`DELETE FROM audit WHERE phase = 'checkpoint'`);
    db.close();
    const cut = await here.heddle(['audit', 'verify', '--head', head, '--json']);
    const faults = expect.arrayContaining([expect.objectContaining({ kind: 'head', segment: head.split(' ')[0] })]);
    expect([cut.code, JSON.parse(cut.stdout).faults]).toEqual([1, faults]);
    expect((await here.heddle(['audit', 'verify', '--head', 'nonsense'])).code).toBe(2);
  });

  verifies(
    'G11',
    'verify and doctor say that a cut end cannot be seen without a head, and find an emptied log',
    async () => {
      const here = project(note);
      const unseen =
        'Removed newest records cannot be seen without a head: keep one with `heddle audit head`, and pass it to `heddle audit verify --head`.';
      const doctor = async () => {
        const findings = JSON.parse((await here.heddle(['doctor', '--json'])).stdout) as { subject: string }[];
        return findings.find(({ subject }) => subject === 'audit');
      };
      expect(await doctor()).toEqual({ level: 'ok', subject: 'audit', message: `The log is empty. ${unseen}` });
      await outputOf(here, ...read);
      const verified = await outputOf(here, 'audit', 'verify');
      expect(verified).toBe(`2 records in 1 segment with 0 checkpoints: all intact. ${unseen}\n`);
      expect(await doctor()).toMatchObject({
        level: 'ok',
        message: expect.stringMatching(/all intact\. Removed newest/),
      });
      const { DatabaseSync } = await import('node:sqlite');
      const db = new DatabaseSync(join(here.home, 'heddle.sqlite'));
      db.exec('DELETE FROM audit');
      db.close();
      expect(await doctor()).toMatchObject({
        level: 'error',
        message: expect.stringContaining('The log has no records, but'),
      });
      const emptied = await here.heddle(['audit', 'verify', '--json']);
      const faults = [expect.objectContaining({ kind: 'emptied' })];
      expect([emptied.code, JSON.parse(emptied.stdout)]).toEqual([
        1,
        expect.objectContaining({
          records: 0,
          end: 'unknown',
          faults,
          message: expect.stringMatching(/^The log is empty: 1 fault/),
        }),
      ]);
    },
  );

  verifies('G11', 'a gateway writes a checkpoint when it closes', async () => {
    const here = project(note);
    const running = await here.up();
    await outputOf(here, ...read);
    await running.stop();
    const [last] = await searched(here);
    expect(last).toMatchObject({ phase: 'checkpoint', caller: 'heddle', detail: { heads: expect.any(Array) } });
  });

  verifies('G11', 'a gateway records each reload of the configuration', async () => {
    const here = project({ ...note, 'heddle.json': { mode: 'guarded' } });
    const running = await here.up();
    writeFileSync(join(here.folder, 'heddle.json'), JSON.stringify({ mode: 'strict' }));
    const reloads = () => searched(here, 'name=config.reload');
    await until('the reload is recorded', async () => (await reloads()).length > 0);
    expect(await reloads()).toMatchObject([
      { caller: 'heddle', detail: { files: [expect.stringMatching(/heddle\.json$/)] } },
    ]);
    await running.stop();
  });

  verifies('G11', 'searches and simulations run with a low priority, so that calls beside them go on', async () => {
    const here = project({ 'candidate.json': { policies: [] } });
    const report = `import{getPriority}from'node:os';process.on('exit',()=>console.error('priority',getPriority()))`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(report)}` };
    const simulate = ['policy', 'simulate', '--candidate', 'candidate.json'];
    for (const [args, priority] of [
      [['audit', 'search'], 19],
      [simulate, 19],
      [['version'], getPriority()],
    ] as const) {
      const { stderr } = await here.heddle(args, { env, spawned: true });
      expect([args, stderr.match(/priority (-?\d+)/)?.[1]]).toEqual([args, String(Math.max(getPriority(), priority))]);
    }
  });

  verifies('G11', 'every command that changes a file or a secret leaves a record, without secrets', async () => {
    const here = project({ '.cursor/mcp.json': {} });
    const change = async (args: readonly string[], stdin = '') => {
      const { code, stderr } = await here.heddle(args, { stdin });
      expect([args, code, stderr.includes('warning: The change has no')]).toEqual([args, 0, false]);
    };
    await change(['add', 'demo', '--env', 'API_TOKEN=hunter2', '--', 'node', 'x.mjs', '--token', 'hunter3']);
    await change(['disable', 'demo', '--dry-run']);
    await change(['disable', 'demo']);
    await change(['permissions', 'deny', 'mcp__demo']);
    await change(['permissions', 'mode', 'strict']);
    await change(['secret', 'set', 'demo.KEY'], 'hunter4\n');
    await change(['secret', 'rm', 'demo.KEY']);
    await change(['trust', '--forget']);
    await change(['export', 'cursor', '--write']);
    await change(['permissions', 'forget', 'mcp__demo']);
    await change(['remove', 'demo']);
    const all = await searched(here, 'via=cli', '--limit', '100');
    const acts = all.filter(({ name }) => name.startsWith('command.')).toReversed();
    const words = acts.map(({ name, detail }) => [name, ...((detail.words ?? []) as string[])].join(' '));
    expect(words).toEqual([
      'command.add demo node x.mjs --token [REDACTED]',
      'command.disable demo',
      'command.permissions deny mcp__demo',
      'command.permissions mode strict',
      'command.secret set demo.KEY',
      'command.secret rm demo.KEY',
      'command.trust',
      'command.export cursor',
      'command.permissions forget mcp__demo',
      'command.remove demo',
    ]);
    for (const { caller, name, detail } of acts) {
      expect(caller).toMatch(/^local:/);
      const changes =
        name === 'command.add' ? [{ secretSet: 'demo.API_TOKEN' }, { secretSet: 'demo.token' }, {}] : [{}];
      expect(detail).toMatchObject({ outcome: 'ok', changes });
    }
    expect(JSON.stringify(acts[2]?.detail)).toContain('+ ');
    expect(JSON.stringify(all)).not.toMatch(/hunter\d/);
  });

  verifies('G11', 'exports to a file that only its owner can read; a CSV export cannot be verified', async () => {
    const here = project(note);
    await outputOf(here, ...read);
    const { code, stdout, stderr } = await here.heddle(['audit', 'export', '--output', 'out.csv', '--format', 'csv']);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('3 records are in out.csv');
    const [title, first] = readFileSync(join(here.folder, 'out.csv'), 'utf8').split('\n');
    expect(title).toBe('time,segment,sequence,hash,link,callId,phase,caller,via,name,detail');
    expect(first).toContain('"intent"');
    const verified = await here.heddle(['audit', 'verify', 'out.csv']);
    expect(verified.code).toBe(2);
    expect(verified.stderr).toContain('out.csv is a CSV export, which cannot be verified');
    expect(verified.stderr).toContain('--format jsonl');
  });
});
