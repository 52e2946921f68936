import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { BIN, type Project, project, ROOT } from '../e2e/heddle-command.ts';
import { terminal } from '../e2e/terminal.ts';
import { verifies } from '../requirements.ts';

const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const BLOCKS = [...README.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language, block = '']) => ({
  language,
  block,
}));

/** Returns the block that contains a text. */
function blockWith(part: string): string {
  const found = BLOCKS.find(({ block }) => block.includes(part));
  if (!found) throw new Error(`The README has no block with ${part}`);
  return found.block;
}

/** Returns the commands of a block with the lines that it shows for each. */
const transcript = (block: string) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = '', ...shown] = part.trimEnd().split('\n');
      return { command, shown };
    });

// Stands in for the package runners: the servers are in node_modules, and no test uses the network.
const RUNNER = `#!/bin/sh
[ "$1" = -y ] && shift
case $1 in
  *server-everything) exec node '${ROOT}/node_modules/@modelcontextprotocol/server-everything/dist/index.js' ;;
  *) exec node '${ROOT}/node_modules/@modelcontextprotocol/server-memory/dist/index.js' ;;
esac
`;

interface Shop extends Project {
  /** Runs a line in a shell that finds `heddle`, `npx` and `uvx`. */
  shell(line: string): Promise<{ code: number | null; output: string }>;
}

function shop(files: Readonly<Record<string, string | object>>): Shop {
  const one = project(files, { trusted: false });
  const bin = join(dirname(one.folder), 'bin');
  mkdirSync(bin);
  symlinkSync(BIN, join(bin, 'heddle'));
  for (const name of ['npx', 'uvx']) {
    writeFileSync(join(bin, name), RUNNER);
    chmodSync(join(bin, name), 0o755);
  }
  const env = { ...one.env, PATH: `${bin}:${dirname(process.execPath)}:${one.env.PATH}` };
  const up: Shop['up'] = (args, more) => one.up(args, { ...more, PATH: env.PATH });
  const shell = async (line: string) => {
    const child = spawn('bash', ['-c', `exec 2>&1; ${line}`], {
      cwd: one.folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = await text(child.stdout);
    if (child.exitCode === null) await new Promise((resolve) => child.once('exit', resolve));
    return { code: child.exitCode, output };
  };
  return { ...one, env, up, shell };
}

/** Replaces what differs between machines: folders, ports, tokens, durations, and the width of columns. */
const withoutChance = (lines: string, { folder, home }: Project) =>
  lines
    .replaceAll(home, '/home/ann/.heddle')
    .replaceAll(folder, '/home/ann/shop')
    .replaceAll(dirname(folder), '/home/ann')
    .replaceAll(ROOT, '/home/ann/heddle')
    .replace(/127\.0\.0\.1:\d+/g, '<address>')
    .replace(/[0-9a-f]{8}\.[0-9a-f]{8}\.backup/g, '<backup>')
    .replace(/(?<=Token +|Bearer )[\w-]{32}/g, '<token>')
    .replace(/\d+(\.\d)? m?s$/gm, '<duration>')
    .replace(/ {2,}(?=\S)/g, '  ')
    .trimEnd()
    .split('\n');

/** Expects the lines that the README shows; `…` stands for further lines. */
function expectShown(shown: readonly string[], output: string, one: Project): void {
  const wanted = withoutChance(shown.join('\n'), one);
  const lines = withoutChance(output, one);
  const isCut = wanted.at(-1) === '…';
  expect(isCut ? lines.slice(0, wanted.length - 1) : lines).toEqual(isCut ? wanted.slice(0, -1) : wanted);
}

verifies('L4', 'the README shows what `npm start` prints', async () => {
  const one = project({ 'README.md': '' });
  // Without `heddle` on PATH it names the file in the clone, as after cloning.
  const started = await terminal(one, ['up', '--port', '0']);
  await started.press('Ctrl-C stops it.', '\x03');
  await started.ended();
  const [greeting] = started.screen().split('Ctrl-C stops it.');
  expectShown(blockWith('Heddle is up.').split('\n'), `${greeting}Ctrl-C stops it.`, one);
});

verifies('L4', 'the README shows what `trust` and `list servers --check` print', async () => {
  const one = shop({ 'heddle.json': {} });
  await one.shell('git init -q; heddle add everything -- npx -y @modelcontextprotocol/server-everything');
  writeFileSync(join(one.folder, 'heddle.json'), blockWith('"permissions": { "deny"'));
  const [trust, list] = transcript(blockWith('$ heddle trust'));
  // `terminal` trusts through this, which is what the user does here.
  const trusting = await terminal({ ...one, heddle: async () => ({ code: 0, stdout: '', stderr: '' }) }, ['trust']);
  await trusting.type('Trust all of this? [y/N]', 'y');
  expect(await trusting.ended()).toBe(0);
  expectShown(trust?.shown ?? [], trusting.screen(), one);
  const listed = await one.shell(list?.command ?? '');
  // Rows are printed as the checks end.
  const sorted = (lines: string) => withoutChance(lines, one).sort();
  expect(sorted(listed.output)).toEqual(sorted((list?.shown ?? []).join('\n')));
});

verifies('L4', 'the README shows what `connect` prints for three hosts', async () => {
  const one = shop({ 'README.md': '' });
  const server = (name: string) => ({ command: 'npx', args: ['-y', `@modelcontextprotocol/server-${name}`] });
  const time = { command: 'uvx', args: ['mcp-server-time'] };
  const hosts = {
    '.claude.json': JSON.stringify({ mcpServers: { memory: server('memory'), time } }),
    '.cursor/mcp.json': JSON.stringify({ mcpServers: { everything: server('everything'), time } }),
    '.codex/config.toml': '[mcp_servers.docs]\nurl = "https://docs.example.com/mcp"\n',
  };
  for (const [name, content] of Object.entries(hosts)) {
    mkdirSync(join(one.env.HOME ?? '', dirname(name)), { recursive: true });
    writeFileSync(join(one.env.HOME ?? '', name), content, { mode: 0o600 });
  }
  await one.up();
  for (const { command, shown } of transcript(blockWith('$ heddle connect claude-code'))) {
    expectShown(
      shown.filter((line) => line !== ''),
      (await one.shell(command)).output,
      one,
    );
  }
});

const WORKFLOW = { 'notes/a.txt': 'a', 'notes/b.txt': 'b', 'collect.yaml': blockWith('name: collect') };

verifies('L4', 'the README shows what its workflow prints', async () => {
  const one = project(WORKFLOW);
  const [run] = transcript(blockWith('$ heddle run'));
  const [, ...words] = run?.command.split(' ') ?? [];
  const running = await terminal(one, words);
  expect(await running.ended()).toBe(0);
  const last = stripVTControlCharacters(running.screen())
    .trimEnd()
    .split('\n')
    .slice(-(run?.shown.length ?? 0));
  expectShown(run?.shown ?? [], last.join('\n'), one);
});

/** The exit code of a command that needs what this test does not have. All others exit with 0. */
const OTHER_EXITS: Readonly<Record<string, number>> = {
  'heddle add': 2, // Named without its arguments.
  'heddle approvals approve ap_3k': 2, // No such approval is pending.
  'heddle call http://localhost:3001/mcp echo message=hi': 8,
  'heddle list tools http://localhost:3001/mcp': 8,
  'heddle policy check filesystem.fs_write_file path=a.txt content=hi --as key:ci': 6,
  'heddle run collect.yaml folder=notes': 6,
  'heddle doctor': 1, // docs.example.com and wiki.example.com do not exist.
  'heddle add https://docs.example.com/mcp && heddle auth login docs': 8,
};
/** Commands that run until they are stopped. */
const SERVING = /^heddle (up|serve)\b/;

verifies('L4', 'every other command of the README runs', async () => {
  const one = shop({ ...WORKFLOW, 'new.yaml': 'policies: []\n', 'README.md': '' });
  await one.shell('git init -q');
  const gateway = await one.up();
  const commands = blockWith('heddle import --write')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/ +# .*/, ''));
  const prose = README.replace(/^```[\s\S]*?^```$/gm, '');
  const inline = [...prose.matchAll(/`((?:source <\()?heddle [^`]+)`/g)].map(([, command = '']) => command);
  const whole = inline.filter((line) => !line.includes('…') && !line.includes('<command>') && !SERVING.test(line));
  for (const command of new Set([...commands, ...whole])) {
    const wanted = OTHER_EXITS[command] ?? 0;
    expect([command, await one.shell(command)]).toEqual([command, expect.objectContaining({ code: wanted })]);
  }
  const curl = blockWith('TOKEN=…').replace('TOKEN=…', `TOKEN=${gateway.token}`);
  const [called] = (await one.shell(curl.replace(/http:\S+/, gateway.url))).output.split('\n');
  expect(called).toBe(blockWith('"result":{"content"').trim());
  const program = blockWith('openHeddle()').replace("'heddle'", `'${join(ROOT, 'src', 'index.ts')}'`);
  writeFileSync(join(one.folder, 'program.mts'), program);
  expect(await one.shell(`'${process.execPath}' program.mts`)).toEqual({ code: 0, output: 'Echo: hi\n' });
});
