import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ERRORS } from '../../src/core/error-codes.ts';
import { verifies } from '../requirements.ts';
import { project, ROOT, SERVERS } from './heddle-command.ts';

const WIKI = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };

/** For each command that reads: invocations, each of which takes `--json`. `ID` is a call, `WORKFLOW` a file. */
const READS: Readonly<Record<string, readonly string[]>> = {
  '': [''],
  list: [
    'list servers',
    'list tools',
    'list resources',
    'list templates',
    'list prompts',
    'list categories',
    'list workflows',
  ],
  call: ['call odd.plain message=hi'],
  run: ['run one.yaml --dry-run'],
  runs: ['runs list'],
  lint: ['lint one.yaml'],
  describe: ['describe odd.plain'],
  read: ['read none://x'],
  prompt: ['prompt odd.none'],
  search: ['search plain'],
  stats: ['stats', 'stats --budgets'],
  get: ['get odd'],
  permissions: ['permissions', 'permissions rules'],
  approvals: ['approvals list', 'approvals standing list'],
  policy: ['policy check odd.plain message=hi'],
  key: ['key list'],
  audit: ['audit search', 'audit verify', 'audit head', 'audit show ID'],
  auth: ['auth status'],
  secret: ['secret list'],
  trust: ['trust'],
  import: ['import'],
  export: ['export cursor'],
  connect: ['connect'],
  config: ['config explain', 'config schema', 'config path'],
  doctor: ['doctor'],
  version: ['version'],
};
/** Commands that change or serve something, and print no data to read. */
const OTHERS = ['up', 'serve', 'add', 'remove', 'enable', 'disable', 'builtin', 'completion'];

const shop = () =>
  project({
    'heddle.json': { mcpServers: { odd: WIKI } },
    'one.yaml': 'heddle: 1\nname: one\nsteps:\n  - { id: a, tool: odd.plain, input: { message: hi } }\n',
  });

/** Returns the names of all commands, as the help lists them, and the empty name of the one without a name. */
async function commandNames(): Promise<readonly string[]> {
  const { stdout } = await project().heddle(['--help']);
  return ['', ...[...stdout.matchAll(/^ {2}(\w+) {2,}[A-Z]/gm)].map(([, name = '']) => name)];
}

verifies('L3', 'every command that reads prints one JSON value on stdout with --json, without a prompt', async () => {
  expect((await commandNames()).toSorted()).toEqual([...Object.keys(READS), ...OTHERS].toSorted());
  const here = shop();
  await here.heddle(['call', 'odd.plain', 'message=hi']);
  const [{ callId = '' } = {}] = JSON.parse((await here.heddle(['audit', 'search', 'phase=intent', '--json'])).stdout);
  for (const line of Object.values(READS).flat()) {
    const words = line
      .replace('ID', callId)
      .split(' ')
      .filter((word) => word !== '');
    const { code, stdout, stderr } = await here.heddle([...words, '--json']);
    // An error is one JSON value on stderr, and stdout is empty.
    const [data, rest] = code === 0 || stdout !== '' ? [stdout, stderr] : [stderr, stdout];
    expect(() => JSON.parse(data), `${line}: ${stdout}${stderr}`).not.toThrow();
    expect([line, rest.includes('{')]).toEqual([line, false]);
    // Progress and colours are for terminals.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with an escape character.
    expect([line, /[\r\u001b]/.test(stdout + stderr)]).toEqual([line, false]);
  }
});

verifies('L3', 'every command suggests the option, verb or command that was meant', async () => {
  const here = project();
  for (const name of (await commandNames()).filter((one) => one !== '')) {
    const option = await here.heddle([name, '--hepl']);
    expect([name, option.code, option.stdout, option.stderr]).toEqual([
      name,
      2,
      '',
      expect.stringMatching(/^error USAGE_INVALID: There is no option --hepl\.\n {2}fix: Did you mean --help\?\n$/),
    ]);
    if (name.length < 4) continue;
    const misspelt = await here.heddle([`${name}${name.at(-1)}`]);
    expect([misspelt.code, misspelt.stderr]).toEqual([2, expect.stringMatching(`Did you mean .*${name}`)]);
  }
});

verifies('L3', 'prints no colours with NO_COLOR, also where FORCE_COLOR is set', async () => {
  const env = { FORCE_COLOR: '1' };
  const here = shop();
  const run = (more: Readonly<Record<string, string>>) =>
    here.heddle(['list', 'servers'], { env: { ...env, ...more }, spawned: true });
  expect((await run({})).stdout).toContain('\u001b[');
  expect((await run({ NO_COLOR: '1' })).stdout).not.toContain('\u001b[');
});

verifies('L5', 'every error code has a section with the cause, the exit code and one fix in docs/errors.md', () => {
  const page = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8');
  const sections = new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((text) => [text.split('\n', 1)[0] ?? '', text]),
  );
  expect([...sections.keys()].toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  for (const [code, { exit, when, fix }] of Object.entries(ERRORS)) {
    for (const part of [when, `- exit code: ${exit}\n`, `- fix: ${fix}`]) expect(sections.get(code)).toContain(part);
  }
});

verifies('L5', 'every command prints an error as its code, the cause and one fix, and the same as JSON', async () => {
  const here = project();
  for (const name of (await commandNames()).filter((one) => one !== '')) {
    const words = [name, '--no-such-option'];
    const { code, stderr } = await here.heddle(words);
    expect([name, code, stderr]).toEqual([
      name,
      2,
      expect.stringMatching(/^error [A-Z_]+: .+[.?]\n {2}fix: .+[.?]\n$/),
    ]);
    const json = JSON.parse((await here.heddle([...words, '--json'])).stderr);
    const fields = { code: 'USAGE_INVALID', message: expect.any(String), fix: expect.any(String) };
    expect([name, json.error]).toEqual([name, expect.objectContaining(fields)]);
  }
});
