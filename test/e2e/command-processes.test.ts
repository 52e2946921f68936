import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { type Outcome, project, SERVERS } from './heddle-command.ts';

const ODD = { command: process.execPath, args: [join(SERVERS, 'odd-tools.mjs')] };
const PLAIN = 'heddle: 1\nsteps:\n  - { id: write, tool: odd.echo, input: { message: hi } }\n';

/** A command line for each command but those that run until they are stopped. Its outcome depends on no earlier one. */
const LINES: Readonly<Record<string, { readonly words: string; readonly code: number }>> = {
  status: { words: '', code: 0 },
  list: { words: 'list tools --json', code: 0 },
  call: { words: 'call odd.fail', code: 1 },
  run: { words: 'run nothing', code: 2 },
  runs: { words: 'runs show run_none', code: 2 },
  lint: { words: 'lint plain', code: 0 },
  describe: { words: 'describe odd.echo', code: 0 },
  read: { words: 'read notes://none', code: 2 },
  prompt: { words: 'prompt odd.none', code: 2 },
  search: { words: 'search echo --json', code: 0 },
  stats: { words: 'stats', code: 0 },
  add: { words: 'add odd -- node', code: 2 },
  remove: { words: 'remove none', code: 2 },
  get: { words: 'get odd', code: 0 },
  enable: { words: 'enable none', code: 2 },
  disable: { words: 'disable none', code: 2 },
  permissions: { words: 'permissions rules', code: 0 },
  approvals: { words: 'approvals show ap_none', code: 2 },
  policy: { words: 'policy check odd.echo message=x', code: 0 },
  key: { words: 'key revoke none', code: 2 },
  audit: { words: 'audit verify --nothing', code: 2 },
  auth: { words: 'auth status', code: 0 },
  secret: { words: 'secret remove none', code: 2 },
  trust: { words: 'trust', code: 0 },
  import: { words: 'import --json', code: 0 },
  export: { words: 'export none', code: 2 },
  connect: { words: 'connect none', code: 2 },
  config: { words: 'config explain', code: 0 },
  doctor: { words: 'doctor none', code: 2 },
  completion: { words: 'completion bash', code: 0 },
  version: { words: 'version', code: 0 },
};
const RUNNING = ['up', 'serve', 'builtin'];

verifies('L4', 'every command ends as a process of its own with the same exit code and output', async () => {
  const { heddle } = project({ 'heddle.json': { mcpServers: { odd: ODD } }, '.heddle/workflows/plain.yaml': PLAIN });
  await heddle(['list', 'tools']); // Makes the server known.
  const overview = (await heddle(['--help'])).stdout;
  const names = [...overview.matchAll(/^ {2}([a-z]+) {2,}[A-Z]/gm)].map(([, name]) => name);
  expect([...Object.keys(LINES), ...RUNNING].sort()).toEqual(['status', ...names].sort());
  const here: Record<string, Outcome> = {};
  const apart: Record<string, Outcome> = {};
  for (const [name, { words }] of Object.entries(LINES)) {
    const args = words.split(' ').filter((word) => word !== '');
    here[name] = await heddle(args);
    apart[name] = await heddle(args, { spawned: true });
  }
  expect(apart).toEqual(here);
  const codes = (all: Readonly<Record<string, { readonly code: number | null }>>) =>
    Object.entries(all).map(([name, { code }]) => [name, code]);
  expect(codes(apart)).toEqual(codes(LINES));
});
