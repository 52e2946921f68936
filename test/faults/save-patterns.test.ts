import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { project, SERVERS } from '../e2e/heddle-command.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const REWRITES = process.env.HEDDLE_TEST_SCALE === 'full' ? 500 : 10;
const KEY = 'hk_save-patterns';
const CLIENTS = 4;

/** The arguments of a save pattern of an editor or deployment tool. */
interface Saving {
  readonly file: string;
  readonly text: string;
  /** Waits for some calls while the save is half done. */
  readonly gap: () => Promise<void>;
  /** Waits until Heddle has noticed that the file is gone. */
  readonly noticed: () => Promise<void>;
}

const half = ({ text }: Saving) => text.slice(0, text.length / 2);

const PATTERNS: Readonly<Record<string, (saving: Saving) => Promise<void> | void>> = {
  'write in place': ({ file, text }) => writeFileSync(file, text),
  'truncate, then write': async ({ file, text, gap }) => {
    truncateSync(file);
    await gap();
    writeFileSync(file, text);
  },
  'write another file, then rename': ({ file, text }) => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  },
  'delete, then write': async ({ file, text, gap }) => {
    rmSync(file);
    await gap();
    writeFileSync(file, text);
  },
  'delete, and write after Heddle has noticed': async ({ file, text, noticed }) => {
    rmSync(file);
    await noticed();
    writeFileSync(file, text);
  },
  'write one half, then all': async (saving) => {
    writeFileSync(saving.file, half(saving));
    await saving.gap();
    writeFileSync(saving.file, saving.text);
  },
  'write one half, then append': async (saving) => {
    writeFileSync(saving.file, half(saving));
    await saving.gap();
    appendFileSync(saving.file, saving.text.slice(half(saving).length));
  },
  'swap a symbolic link': ({ file, text }) => {
    writeFileSync(`${file}.target`, text);
    symlinkSync(`${file}.target`, `${file}.link`);
    renameSync(`${file}.link`, file);
  },
  'rename to a backup, then write': async ({ file, text, gap }) => {
    renameSync(file, `${file}~`);
    await gap();
    writeFileSync(file, text);
  },
  'change the mode, delete, then link': async ({ file, text, gap }) => {
    writeFileSync(`${file}.linked`, text);
    chmodSync(file, 0);
    await gap();
    unlinkSync(file);
    symlinkSync(`${file}.linked`, file);
  },
};

const configText = (generation: number) =>
  JSON.stringify({
    mcpServers: { steady: { command: process.execPath, args: [join(SERVERS, 'pid-server.mjs')] } },
    gateway: { apiKeys: [{ name: 'load', sha256: createHash('sha256').update(KEY).digest('hex') }] },
    mode: 'open',
    [`generation${generation}`]: true, // An unknown key. The problem report shows which generation was read.
  });

/** Calls a tool until the test ends, one call at a time per client, and collects the failures. */
function load(url: string) {
  const failures: string[] = [];
  let calls = 0;
  let running = true;
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
  const params = { name: 'steady.who', arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  async function client(): Promise<void> {
    while (running) {
      const response = await fetch(url, { method: 'POST', headers, body });
      const text = await response.text();
      if (response.status !== 200 || /isError":true|"error":/.test(text)) failures.push(`${response.status} ${text}`);
      calls++;
    }
  }
  const clients = Array.from({ length: CLIENTS }, client);
  async function stop(): Promise<void> {
    running = false;
    await Promise.all(clients);
  }
  onTestFinished(stop);
  return { failures, calls: () => calls, stop };
}

verifies(
  'C13',
  'fails no call while the configuration is saved in ten ways, deletion included',
  async () => {
    const { folder, up } = project({ 'my.json': configText(0) });
    const file = join(folder, 'my.json');
    const { url, stderr } = await up(['--port', '0', '--config', 'my.json']);
    const { failures, calls, stop } = load(url);
    const gap = () => {
      const passed = calls() + 10 * CLIENTS;
      return until('calls go on', () => calls() >= passed);
    };
    const losses = () => stderr().split('stays in force for 5 s').length;
    const names = Object.keys(PATTERNS);
    for (let generation = 1; generation <= REWRITES; generation++) {
      const name = names[generation % names.length] as string;
      const before = losses();
      const noticed = () => until('the deletion is noticed', () => losses() > before);
      await PATTERNS[name]?.({ file, text: configText(generation), gap, noticed });
      await until(`${name} ${generation}`, () => stderr().includes(`generation${generation}\``));
    }
    await stop();
    expect(failures).toEqual([]);
    expect(calls()).toBeGreaterThan(REWRITES);
    expect(names).toHaveLength(10);
  },
  900_000,
);
