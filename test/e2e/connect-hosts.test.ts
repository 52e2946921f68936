import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ApplicationName } from '../../src/config/hosts/hosts.ts';
import { verifies } from '../requirements.ts';
import { hostMachine, writtenEntry } from './connected-host.ts';
import { BIN, SERVERS } from './heddle-command.ts';

const PID = join(SERVERS, 'pid-server.mjs');
const NODE = process.execPath;

interface HostCase {
  readonly host: ApplicationName;
  /** The path in the user's home. */
  readonly file: string;
  readonly text: string;
  /** Text of the connected file: how `demo` is disabled there. */
  readonly disabled: RegExp;
}

const lines = (...all: readonly string[]) => all.join('\n');
const crlf = (text: string) => text.replaceAll('\n', '\r\n');
const MARK = '\uFEFF';

// Each has a layout that a rewrite of the file would lose.
const CASES: readonly HostCase[] = [
  {
    host: 'claude-code',
    file: '.claude.json',
    text: `${JSON.stringify({ numStartups: 7, big: 1e3, mcpServers: { demo: { type: 'stdio', command: NODE, args: [PID] } }, projects: { '/x': { mcpServers: { other: { command: 'y' } } } }, tipsHistory: { a: 1 } }, null, 2)}`,
    disabled: /"mcpServers": \{\s*"heddle": \{/,
  },
  {
    host: 'claude-desktop',
    file: '.config/Claude/claude_desktop_config.json',
    text: `${MARK}{\n\t"globalShortcut": "",\n\t"mcpServers": {\n\t\t"demo": {"command": "${NODE}", "args": ["${PID}"]}\n\t}\n}\n\n`,
    disabled: /"mcpServers": \{\n\t\t"heddle": \{\n\t\t\t"command"/,
  },
  {
    host: 'cursor',
    file: '.cursor/mcp.json',
    text: lines(
      '{',
      '    // mine',
      '  "mcpServers": {',
      `     "demo": { "command": "${NODE}", "args": ["${PID}"] }, /* last */`,
      '  },',
      '}',
      '',
    ),
    disabled: /\/\/ mine\n {2}"mcpServers": \{\n.*"heddle"/,
  },
  {
    host: 'vscode',
    file: '.config/Code/User/mcp.json',
    text: crlf(
      lines(
        '{',
        '  "inputs": [], // none',
        '  "servers": {',
        `    "demo": { "type": "stdio", "command": "${NODE}", "args": ["${PID}"] }`,
        '  }',
        '}',
        '',
      ),
    ),
    disabled: /\/\/ none\r\n {2}"servers": \{\r\n {4}"heddle": \{\r\n/,
  },
  {
    host: 'windsurf',
    file: '.codeium/windsurf/mcp_config.json',
    text: `{"mcpServers":{"demo":{"command":"${NODE}","args":["${PID}"],"env":{}}}}`,
    disabled: /"disabled": true/,
  },
  {
    host: 'zed',
    file: '.config/zed/settings.json',
    text: lines(
      '// Zed settings',
      '{',
      '  "theme": "One Dark", // dark',
      '  "context_servers": {',
      '    "demo": {',
      `      "command": "${NODE}",`,
      `      "args": ["${PID}"], // the server`,
      '      "env": {},',
      '    },',
      '  },',
      '}',
      '',
    ),
    disabled: /\/\/ the server\n {6}"env": \{\},\n {6}"enabled": false/,
  },
  {
    host: 'gemini',
    file: '.gemini/settings.json',
    text: lines(
      '{',
      '  "mcp": { "allowed": ["demo"] },',
      '  "mcpServers": {',
      `    "demo": { "command": "${NODE}", "args": ["${PID}"] }`,
      '  }',
      '}',
    ),
    disabled: /"allowed": \["demo", "heddle"\], "excluded": \["demo"\]/,
  },
  {
    host: 'codex',
    file: '.codex/config.toml',
    text: crlf(
      lines(
        '# mine',
        'model = "o9" # fast',
        '',
        '[mcp_servers.demo]   # the server',
        `command = "${NODE}"`,
        `args = [ "${PID}" ]`,
        '',
        '[tui]',
        'theme = "dark"',
        '',
      ),
    ),
    disabled: /args = \[ "[^\n]*" \]\r\nenabled = false\r\n\r\n\[tui\]/,
  },
  {
    host: 'opencode',
    file: '.config/opencode/opencode.jsonc',
    text: lines(
      '{',
      '  "$schema": "https://opencode.ai/config.json",',
      '  /* servers */ "mcp": {',
      `    "demo": { "type": "local", "command": ["${NODE}", "${PID}"] },`,
      '  },',
      '}',
      '',
    ),
    disabled: /"enabled": false/,
  },
];

for (const { host, file, text, disabled } of CASES) {
  verifies(
    'C12',
    `connect ${host}: the file gets one entry, demo is disabled, and undo restores every byte`,
    async () => {
      const { at, bytes, path } = hostMachine({ [file]: text });
      const first = bytes(file);
      const connected = await at.heddle(['connect', host, '--yes']);
      expect(connected.stderr).toBe(
        'The tools of demo are not known yet. `heddle doctor` counts those that ask for approval.\n',
      );
      expect(connected.stdout).toContain(`Imported into ${join(at.home, 'heddle.json')}: demo`);
      expect(connected.stdout).toContain(`To undo: heddle connect ${host} --undo`);
      expect(connected.code).toBe(0);
      const after = readFileSync(path(file), 'utf8');
      expect(after).toMatch(disabled);
      const entry = JSON.stringify(writtenEntry(host, after));
      for (const word of [NODE, BIN, 'serve', '--stdio']) expect(entry).toContain(JSON.stringify(word));
      expect(JSON.parse(readFileSync(join(at.home, 'heddle.json'), 'utf8')).mcpServers).toEqual({
        demo: { command: NODE, args: [PID] },
      });

      const again = await at.heddle(['connect', host, '--yes']);
      expect(again).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('is connected already. Nothing was changed.'),
      });
      expect(readFileSync(path(file), 'utf8')).toBe(after);

      const undone = await at.heddle(['connect', host, '--undo']);
      const revoked = `The key connect-${host} is revoked.\n`;
      expect(undone).toMatchObject({ code: 0, stdout: `${path(file)} is as it was, byte for byte.\n${revoked}` });
      expect(bytes(file)).toBe(first);
    },
  );
}
