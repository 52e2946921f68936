import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { meaningfulLines, stderrReason } from './stderr-reason.ts';

const FOLDER = join(import.meta.dirname, '../../../test/stderr');
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

/** The expected reasons, by the file with the whole stderr. */
const REASONS: Readonly<Record<string, string>> = {
  'node-missing-module.txt': "Error: Cannot find module '/srv/app/server.js'",
  'node-thrown.txt': 'TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be of type string. Received undefined',
  'node-refused.txt': 'Error: connect ECONNREFUSED 127.0.0.1:5432',
  'node-warning-first.txt': 'Error: GITHUB_TOKEN is not set',
  'python-traceback.txt': "ModuleNotFoundError: No module named 'mcp_server_weather'",
  'python-chained.txt': 'RuntimeError: The database could not be opened',
  'npm-404.txt':
    "npm error 404 Not Found - GET https://registry.example.com/@acme%2fno-such-mcp-server - Not found The requested resource '@acme/no-such-mcp-server@*' could not be found or you do not have permission to access it.",
  'npm-404-old.txt':
    "npm ERR! 404 Not Found - GET https://registry.example.com/no-such-mcp-server - Not found 'no-such-mcp-server@*' is not in this registry.",
  'npm-notice-only.txt': '',
  'npm-notice-last.txt': 'Error: connection string is required',
  'sh-not-found.txt': 'sh: 1: mcp-server-nope: not found',
  'bash-not-found.txt': 'bash: line 1: uvx: command not found',
  'env-no-such-file.txt': '/usr/bin/env: ‘python4’: No such file or directory',
  'uvx-unknown.txt':
    '× No solution found when resolving tool dependencies: ╰─▶ Because no-such-mcp was not found in the package registry and you require no-such-mcp, we can conclude that your requirements are unsatisfiable.',
  'uvx-python-error.txt': 'ValueError: The timezone "Mars/Phobos" is unknown',
  'docker-daemon.txt':
    "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running? Run 'docker run --help' for more information",
  'go-panic.txt':
    'panic: runtime error: invalid memory address or nil pointer dereference [signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47c3a1]',
  'unshare-ended.txt': 'waiting for the license server at 10.0.0.7',
  'usage.txt':
    'Usage: mcp-server-filesystem <allowed-directory> [additional-directories...] At least one directory is needed for the tools.',
};

for (const [name, reason] of Object.entries(REASONS)) {
  verifies('L5', `finds the reason in ${name}`, () => {
    expect(stderrReason(read(name))).toBe(reason);
  });
}

it('has an expected reason for every stored stderr', () => {
  expect(readdirSync(FOLDER).sort()).toEqual(Object.keys(REASONS).sort());
});

it('is at most 400 characters of whole words, without colours', () => {
  const reason = stderrReason(`\u001b[31mError: ${'long '.repeat(200)}\u001b[0m`);
  expect(reason).toMatch(/^Error: (?:long ){70,}…$/);
  expect(reason.length).toBeLessThanOrEqual(402);
});

it('never begins in the middle of a stack', () => {
  const lines = read('node-thrown.txt').split('\n');
  for (let from = 0; from < lines.length; from++) {
    expect(stderrReason(lines.slice(from).join('\n'))).not.toMatch(/^at /);
  }
});

it('removes routine output', () => {
  expect(meaningfulLines('npm warn deprecated a@1: old\nready\n\nnpm notice New major version of npm')).toEqual([
    'ready',
  ]);
});
