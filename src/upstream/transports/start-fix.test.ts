import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { startFix } from './start-fix.ts';
import { reasonLines, stderrReason } from './stderr-reason.ts';

const fixOf = (stderr: string, more: Partial<Parameters<typeof startFix>[0]> = {}) => {
  const [reason, unredacted] = [stderrReason(stderr), reasonLines(stderr).join(' ')];
  return startFix({ server: 'demo', ended: true, reason, unredacted, stray: '', own: {}, ours: {}, ...more });
};

for (const text of [
  'Error: FOO_API_KEY environment variable is required',
  "KeyError: 'FOO_API_KEY'",
  'Please set FOO_API_KEY before you start',
  'Missing required environment variable: FOO_API_KEY',
  'FOO_API_KEY must be set',
  'ValueError: FOO_API_KEY: field required',
  'Missing API token: set FOO_API_KEY',
  'error: no FOO_API_KEY in the environment',
  '{"path":["FOO_API_KEY"],"message":"Required"}',
  'Please provide a personal access token with --access-token or set the FOO_API_KEY environment variable',
]) {
  verifies('L5', `finds the variable in: ${text}`, () => {
    expect(fixOf(text)).toContain('Set FOO_API_KEY in `env` of demo');
    expect(fixOf('', { stray: text })).toContain('Set FOO_API_KEY in `env` of demo');
  });
}

for (const [text, fix] of [
  ['TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be set', 'Correct what its stderr names'],
  ['SyntaxError: no export named FOO_BAR', 'Correct what its stderr names'],
  ["SyntaxError: './a.js' does not provide an export named 'FOO_BAR'", 'Correct what its stderr names'],
  ['Error: no entry for UTF_8', 'Correct what its stderr names'],
  ['Error: PASSWORD=HUNTER_TWO is required', 'Correct what its stderr names'],
  ['Missing A_KEY and B_KEY', 'Set A_KEY, B_KEY in `env`'],
  ['Error: listen EADDRINUSE: address already in use :::8080', 'End the program that uses port 8080'],
  ["Error: Cannot find module '/srv/app.js'", 'there is no /srv/app.js'],
  ["ModuleNotFoundError: No module named 'mcp'", 'Install mcp for the program in `command` of demo'],
  ["python: can't open file '/srv/a.py': [Errno 2] No such file", 'there is no /srv/a.py'],
  ['bash: line 1: uvx: command not found', 'Install uvx'],
  ['Usage: demo <dir>', 'it printed how it is used'],
  ['', 'which `args` start demo as an MCP server'],
] as const) {
  verifies('L5', `has the fix for: ${text || 'no output'}`, () => {
    expect(fixOf(text)).toContain(fix);
  });
}

verifies('L5', 'recommends more time only for a server that printed no reason', () => {
  expect(fixOf('', { ended: false })).toContain('connectTimeoutMs');
  expect(fixOf('FOO_API_KEY is not set', { ended: false })).not.toContain('connectTimeoutMs');
});

verifies('L5', 'takes linear time for hostile output', () => {
  expect(fixOf('A_A,'.repeat(20_000))).toContain('Correct what its stderr names');
});
