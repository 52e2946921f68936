import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';
import { BIN, project, SERVERS } from './heddle-command.ts';

/** A project with a server that was seen once, and `heddle` on the PATH. */
async function seen() {
  const entry = { command: process.execPath, args: [join(SERVERS, 'every-kind.mjs')] };
  const made = project({
    'heddle.json': { mcpServers: { kinds: { ...entry, env: { STARTS: '${workspaceFolder}/starts' } } } },
    'note.txt': 'x',
  });
  await made.heddle(['list', 'tools']);
  const bin = join(made.folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'heddle'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(bin, 'heddle'), 0o755);
  return { ...made, env: { ...made.env, PATH: `${bin}:${made.env.PATH}`, TERM: 'dumb', PS1: '$ ' } };
}

/** Completes a line in bash, by the function that the script defines. Returns the candidates as bash gets them. */
function completed({ folder, env }: Awaited<ReturnType<typeof seen>>, lines: readonly string[]): readonly string[] {
  const script = `
    source <(heddle completion bash)
    COMP_WORDBREAKS=$' \\t\\n"\\'@><=;|&(:'
    for line in "$@"; do
      COMP_LINE="$line" COMP_POINT=\${#line}
      _heddle
      printf '%s|' "\${COMPREPLY[@]}"
      printf '\\n'
    done`;
  const out = execFileSync('bash', ['--norc', '-c', script, 'bash', ...lines], { cwd: folder, env, encoding: 'utf8' });
  return out.trimEnd().split('\n');
}

describe('heddle completion', () => {
  verifies(
    'L1',
    'completes commands, options, servers, tools and arguments in bash, and starts no server',
    async () => {
      const made = await seen();
      const lines = {
        'heddle ver': 'version|',
        'heddle call --tim': '--timeout|',
        'heddle call kinds.c': 'kinds.collect|',
        'heddle call kinds co': 'collect|',
        'heddle call kinds.collect count=3 n': 'note=|',
        'heddle call kinds.collect unit=cel': 'celsius|',
        'heddle call kinds collect loud=': 'true|false|',
        'heddle call kinds.collect note=@no': 'note.txt|',
        'heddle read notes://tod': '//today|',
        'heddle list tools --server k': 'kinds|',
        'heddle describe ki': 'kinds|kinds.collect|kinds.loose|kinds.hello|kinds.review|',
        'heddle permissions al': 'allow|',
        'heddle auth lo': 'login|logout|',
        'heddle auth login k': 'kinds|',
        'heddle permissions allow mcp__kinds__c': 'mcp__kinds__collect|',
        'heddle nothing ': '|',
      };
      expect(completed(made, Object.keys(lines))).toEqual(Object.values(lines));
      expect(readFileSync(join(made.folder, 'starts'), 'utf8')).toBe('started\n'); // For the list in `seen`.
    },
  );

  verifies('L1', 'completes what a person types at a terminal', async () => {
    const { folder, env } = await seen();
    const shell = spawn('script', ['-qefc', 'bash --norc --noprofile -i', '/dev/null'], { cwd: folder, env });
    const ended = once(shell, 'close');
    onTestFinished(async () => {
      shell.kill('SIGKILL');
      await ended;
    });
    let shown = '';
    shell.stdout.on('data', (chunk) => (shown += chunk));
    const screen = () => stripVTControlCharacters(shown).replaceAll('\r', '');
    const type = async (text: string, expected: string) => {
      shell.stdin.write(text);
      await until(`${expected} is in ${JSON.stringify(screen())}`, () => screen().includes(expected));
    };
    await type('source <(heddle completion bash); echo loaded-$?\n', '\nloaded-0\n');
    await type('heddle call kinds.c\t', 'kinds.collect ');
    await type('no\t', 'note=');
    await type('hi un\t', 'unit=');
    await type('c\t', 'unit=celsius');
    await type('\n', '{"note":"hi","unit":"celsius"}');
    shell.stdin.write('exit\n');
    await ended;
  });

  it('prints nothing when the configuration cannot be read', async () => {
    const { heddle } = project({ 'heddle.json': '{ "mcpServers": ' });
    expect(await heddle(['__complete', 'read', ''])).toEqual({ code: 0, stdout: '', stderr: '' });
    const unusable = { env: { HEDDLE_HOME: '/dev/null/none' } };
    expect(await heddle(['__complete', 'get', ''], unusable)).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('offers no name that a shell would interpret', async () => {
    const entry = { command: process.execPath, args: [join(SERVERS, 'every-kind.mjs')] };
    const { heddle } = project({ 'heddle.json': { mcpServers: { safe: entry, 'a$(id)': entry } } });
    expect((await heddle(['__complete', 'get', ''])).stdout).toBe('safe\nfilesystem\n');
  });

  it('offers no name of a server, tool or argument that begins with a hyphen, which would be an option', async () => {
    const code = `
      require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        const answer = (result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
        const serverInfo = { name: 's', version: '1' };
        const properties = { '--yes': {}, note: { enum: ['-x', 'y'] } };
        const tools = ['--yes', 'plain'].map((name) => ({ name, inputSchema: { type: 'object', properties } }));
        if (method === 'initialize')
          answer({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo });
        else if (method === 'tools/list') answer({ tools });
        else if (id !== undefined) answer({});
      });`;
    const { heddle } = project({
      'heddle.json': { mcpServers: { evil: { command: process.execPath, args: ['-e', code] } } },
    });
    await heddle(['list', 'tools']);
    expect((await heddle(['__complete', 'call', 'evil', ''])).stdout).toBe('plain\n');
    expect((await heddle(['__complete', 'call', 'evil.plain', ''])).stdout).toBe('note=\n');
    expect((await heddle(['__complete', 'call', 'evil.plain', 'note='])).stdout).toBe('note=-x\nnote=y\n');
    expect((await heddle(['__complete', 'call', '--tim'])).stdout).toBe('--timeout\n');
  });

  it('prints a script for each shell, and names the shells for any other word', async () => {
    const { heddle } = project();
    const zsh = await heddle(['completion', 'zsh']);
    expect(zsh.stdout).toMatch(/^#compdef heddle\n[\s\S]+ __complete "\$\{\(@\)words\[2,CURRENT-1\]\}" "\$PREFIX"/);
    const fish = await heddle(['completion', 'fish']);
    expect(fish.stdout).toContain("\ncomplete -c heddle -f -a '(__heddle_complete)'\n");
    const { code, stderr } = await heddle(['completion', 'bsh']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('fix: Did you mean bash?')]);
  });
});

describe('signatures', () => {
  const COLLECT =
    'collect(note: string, count?: number, id?: number | null, loud?: boolean, tags?: string[], ' +
    'filter?: { from?: number }, unit?: "celsius" | "fahrenheit") -> { note: string }';

  verifies('L1', 'are shown by describe and by list tools --signatures, with hostile names escaped', async () => {
    const { heddle } = await seen();
    const described = await heddle(['describe', 'kinds.collect']);
    expect(described.stdout).toContain(`\n\n${COLLECT}\n\n`);
    const { stdout } = await heddle(['list', 'tools', '--signatures', '--server', 'kinds']);
    const [collect, forged, loose, ...none] = stdout.split('\n');
    expect(collect).toBe(`kinds.${COLLECT}`);
    expect(forged).toMatch(/^mcp__kinds__forged--31m_[\da-f]{8}\("a: number\) -> safe\\\\?n\(b"\?: string\)$/);
    expect([loose, none]).toEqual(['kinds.loose(message: unknown)', ['']]);
    const json = await heddle(['list', 'tools', '--signatures', '--server', 'kinds', '--json']);
    expect(JSON.parse(json.stdout)[0].signature).toBe(`kinds.${COLLECT}`);
    const refused = await heddle(['list', 'prompts', '--signatures']);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--signatures is not an option')]);
  });
});
