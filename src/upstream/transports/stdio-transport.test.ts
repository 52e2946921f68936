import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { alive, hostPids } from '../../../test/alive.ts';
import { expectGrowth, MEASURES, residentMegabytes, within } from '../../../test/limits.ts';
import { verifies } from '../../../test/requirements.ts';
import { until } from '../../../test/until.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { Peer } from '../../wire/peer.ts';
import { StdioClientTransport, type StdioTransportOptions } from './stdio-transport.ts';

const watchdog = openWatchdog();
const open: Peer[] = [];
afterEach(() => Promise.all(open.splice(0).map((peer) => peer.close())));
afterAll(() => watchdog.close());

const DEAF = `const deaf = ['-c', "trap '' INT TERM HUP; while :; do sleep 1; done"];
  const kids = [false, true].map((detached) =>
    require('node:child_process').spawn('sh', deaf, { detached, stdio: 'ignore' }).pid);`;

/** A real child: `say` prints a line, `ask` gets each message. */
async function child(body: string, options: Partial<StdioTransportOptions> = {}) {
  const script = `
    const say = (text) => process.stdout.write(text + '\\n');
    const answer = (id, result) => say(JSON.stringify({ jsonrpc: '2.0', id, result }));
    let reads = 0;
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => ask(JSON.parse(line)));
    process.stdin.on('data', () => { reads += 1; });
    ${body}`;
  const line = new StdioClientTransport({
    server: 'demo',
    watchdog,
    command: process.execPath,
    args: ['-e', script],
    env: { PATH: process.env.PATH ?? '' },
    ...options,
  });
  const peer = new Peer(line, { server: 'demo' });
  await peer.start();
  open.push(peer);
  return { line, peer, ask: (method: string) => peer.request(method, {}, { deadlineMs: 120_000 }) };
}

async function familyOf(ask: (method: string) => Promise<unknown>): Promise<readonly number[]> {
  const { own, mark } = (await ask('family')) as { own: number[]; mark: string };
  const pids = hostPids(own, `HEDDLE_LINE=${mark}`);
  expect(pids.map(alive)).toEqual([true, true, true]);
  return pids;
}

verifies('T4', 'drops lines that are not JSON, counts them, and keeps the last of stderr', async () => {
  const { line, ask } = await child(
    `console.error('x'.repeat(500) + 'last words'); say('Listening…'); say(''); say('"text"'); say('{"half":');
    function ask({ id }) { answer(id, { ok: 'é✓' }); }`,
    { stderrBytes: 100 },
  );
  await expect(ask('ping')).resolves.toEqual({ ok: 'é✓' });
  expect(line.counts.garbage).toBe(3);
  await until('stderr was read', () => line.stderr() !== '');
  expect(line.stderr()).toMatch(/^x{89}last words\n$/);
});

verifies('F3', 'keeps only the end of a flood on stderr', async () => {
  const { line, ask } = await child(
    `function ask({ id }) {
      let left = 200;
      const pour = () => {
        while (left-- > 0) if (!process.stderr.write('e'.repeat(1e6))) return process.stderr.once('drain', pour);
        process.stderr.write('the end', () => answer(id, {}));
      };
      pour();
    }`,
  );
  await ask('flood');
  await until('the end was read', () => line.stderr().endsWith('the end'));
  expect(line.stderr()).toHaveLength(64 * 1024);
});

it('writes the messages of one turn of the event loop together', async () => {
  const { ask } = await child(`function ask({ id }) { setImmediate(() => answer(id, { reads })); }`);
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask('count')));
  expect(answers.at(-1)).toEqual({ reads: 1 });
});

for (const [where, head, tail] of [
  ['first', `'{"jsonrpc":"2.0","id":' + id + ',"result":{"x":"'`, `'"}}'`],
  ['last', `'{"result":{"x":"'`, `'"},"jsonrpc":"2.0","id":' + id + '}'`],
]) {
  verifies('F3', `refuses a 100 MB line in bounded memory and fails only its call, id ${where}`, async () => {
    const troubles: string[] = [];
    const { line, ask } = await child(
      `let pouring = false;
      function ask({ id, method }) {
        if (pouring) return setTimeout(ask, 1, { id, method });
        if (method !== 'flood') return answer(id, {});
        process.stdout.write(${head});
        pouring = true;
        let left = 100;
        const pour = () => {
          while (left-- > 0) if (!process.stdout.write('y'.repeat(1e6))) return process.stdout.once('drain', pour);
          say(${tail});
          pouring = false;
        };
        pour();
      }`,
      { maxLineBytes: 4 * 1024 * 1024, onTrouble: (reason) => troubles.push(reason) },
    );
    await ask('warm');
    const before = residentMegabytes();
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, residentMegabytes());
    }, 5);
    // It may have done what it was asked: that is no refusal.
    await expect(ask('flood')).rejects.toMatchObject({
      code: 'UPSTREAM_FAILED',
      delivered: 'maybe',
      message: expect.stringMatching(/^demo sent a message of .* bytes[,;].* 4194304 |more than 4194304 bytes/),
    });
    await expect(ask('after')).resolves.toEqual({});
    clearInterval(sampler);
    expectGrowth(peak - before, 60);
    expect(line.counts.oversized).toBe(1);
    expect(troubles).toEqual([expect.stringContaining('more than 4194304 bytes')]);
  });
}

verifies('T4', 'ends a stubborn family within 600 ms, one that left the group included', async () => {
  const { peer, ask } = await child(
    `for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => {});
    ${DEAF}
    setInterval(() => {}, 1000);
    function ask({ id }) { answer(id, { own: [process.pid, ...kids], mark: process.env.HEDDLE_LINE }); }`,
  );
  const pids = await familyOf(ask);
  await within(600, () => peer.close());
  await until('the kernel has removed them', () => !pids.some(alive));
});

verifies('T4', 'takes the family of a server that ends by itself', async () => {
  const { peer, ask } = await child(
    `${DEAF} function ask({ id, method }) {
      if (method === 'die') process.exit(0);
      answer(id, { own: [process.pid, ...kids], mark: process.env.HEDDLE_LINE });
    }`,
  );
  const pids = await familyOf(ask);
  await expect(ask('die')).rejects.toMatchObject({ code: 'UPSTREAM_FAILED', delivered: 'maybe' });
  await peer.closed;
  await until('the kernel has removed them', () => !pids.some(alive));
});

verifies('T4', 'gives a server that wants to finish its time to do so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-'));
  const file = join(folder, 'said');
  const { peer, ask } = await child(
    `const note = (word) => require('node:fs').appendFileSync(${JSON.stringify(file)}, word + ' ');
    process.stdin.on('end', () => note('end'));
    process.on('SIGINT', () => note('SIGINT'));
    process.on('SIGTERM', () => setTimeout(() => { note('SIGTERM'); process.exit(); }, 100));
    setInterval(() => {}, 1000);
    function ask({ id }) { answer(id, {}); }`,
  );
  await ask('ready');
  await peer.close();
  // A busy machine may give the server none of the half second that it has: then it wrote nothing.
  const said = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ');
  await rm(folder, { recursive: true });
  expect(said.slice(0, 2).filter((word) => word === 'SIGTERM')).toEqual([]);
  if (MEASURES) expect([...said.slice(0, 2).sort(), said[2]]).toEqual(['SIGINT', 'end', 'SIGTERM']);
});

verifies('F1', 'fails what is pending at once when the child dies, and says that new calls never left', async () => {
  const { line, peer, ask } = await child(
    `function ask({ method }) { if (method === 'die') process.kill(process.pid, 'SIGKILL'); }`,
  );
  const lost = { code: 'UPSTREAM_FAILED', delivered: 'maybe' };
  const calls = () => [ask('wait'), ask('die')].map((call) => expect(call).rejects.toMatchObject(lost));
  await within(1000, () => Promise.all(calls()));
  await peer.closed;
  expect(line.ending()).toBe('it was ended by SIGKILL');
  const kill = vi.spyOn(process, 'kill');
  await peer.close();
  expect(kill).not.toHaveBeenCalled(); // The process id may be reused by now.
  kill.mockRestore();
  await expect(ask('again')).rejects.toMatchObject({ delivered: 'no' });
  await expect(line.send({})).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE', delivered: 'no' });
});

it('still hears the last answer of a child that ends right after it', async () => {
  const { ask } = await child(
    `function ask({ id }) { answer(id, { x: 'y'.repeat(50000) }); process.stdout.end(() => process.exit()); }`,
  );
  await expect(ask('bye')).resolves.toEqual({ x: 'y'.repeat(50_000) });
});

for (const [what, options, message, fix] of [
  [
    'a program',
    { command: 'no-such-program' },
    /its command `no-such-program` does not exist/,
    /^Correct `command` of/,
  ],
  ['a folder', { cwd: '/no/such/folder' }, /its folder \/no\/such\/folder does not exist/, /^Correct `cwd` of demo/],
  ['the right to start it', { command: '/etc/passwd' }, /\/etc\/passwd is not executable/, /^Correct `command` of/],
] as const) {
  verifies('T4', `says plainly that ${what} is missing`, async () => {
    const line = new StdioClientTransport({ server: 'demo', watchdog, command: process.execPath, env: {}, ...options });
    const failure = { code: 'UPSTREAM_UNREACHABLE', delivered: 'no', message: expect.stringMatching(message) };
    await expect(line.start()).rejects.toMatchObject({ ...failure, fix: expect.stringMatching(fix) });
    await line.close();
  });
}

verifies('F3', 'fails the call at the limit already, before an endless line has ended', async () => {
  const { ask } = await child(
    `function ask({ id }) { process.stdout.write('{"jsonrpc":"2.0","id":' + id + ',"result":"' + 'y'.repeat(3000)); }`,
    { maxLineBytes: 2000 },
  );
  await expect(ask('endless')).rejects.toThrow(/demo sent a message of more than 2000 bytes/);
});

it('starts nothing when it was closed while it looked for its program', async () => {
  const line = new StdioClientTransport({ server: 'demo', watchdog, command: process.execPath, env: {} });
  const starting = line.start();
  await line.close();
  await expect(starting).rejects.toMatchObject({ code: 'UPSTREAM_UNREACHABLE', delivered: 'no' });
});

verifies('F3', 'stops queueing for a child that does not read', async () => {
  const { peer } = await child(`process.stdin.removeAllListeners('data'); process.stdin.pause(); function ask() {}`, {
    maxQueuedChars: 1000,
  });
  const big = { text: 'z'.repeat(300_000) };
  const codes: Promise<string>[] = [];
  for (let n = 0; n < 6; n++) {
    codes.push(peer.request('tools/call', big, { deadlineMs: 300 }).then(String, ({ code }) => code));
    await new Promise(setImmediate);
  }
  expect(await Promise.all(codes)).toContain('UPSTREAM_UNREACHABLE');
});
