import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type HostScope, hostFiles } from './hosts.ts';

function files(platform: NodeJS.Platform, env: Record<string, string> = {}) {
  const windows = platform === 'win32';
  const userHome = windows ? 'C:\\Users\\ann' : '/home/ann';
  const projectFolder = windows ? 'D:\\shop' : '/src/shop';
  const all = hostFiles({ platform, env, userHome, projectFolder });
  return (host: string, scope: HostScope) =>
    all.filter((one) => one.host === host && one.scope === scope).map(({ file }) => file);
}

verifies('C12', 'returns the configuration file of each host on Linux', () => {
  const of = files('linux');
  expect(of('claude-code', 'user')).toEqual(['/home/ann/.claude.json']);
  expect(of('claude-code', 'project')).toEqual(['/src/shop/.mcp.json']);
  expect(of('claude-desktop', 'user')).toEqual(['/home/ann/.config/Claude/claude_desktop_config.json']);
  expect(of('cursor', 'user')).toEqual(['/home/ann/.cursor/mcp.json']);
  expect(of('cursor', 'project')).toEqual(['/src/shop/.cursor/mcp.json']);
  expect(of('vscode', 'user')).toEqual(['/home/ann/.config/Code/User/mcp.json', '/home/ann/.copilot/mcp-config.json']);
  expect(of('vscode', 'project')).toEqual(['/src/shop/.vscode/mcp.json']);
  expect(of('windsurf', 'user')).toEqual(['/home/ann/.codeium/windsurf/mcp_config.json']);
  expect(of('zed', 'user')).toEqual(['/home/ann/.config/zed/settings.json']);
  expect(of('gemini', 'project')).toEqual(['/src/shop/.gemini/settings.json']);
  expect(of('codex', 'user')).toEqual(['/home/ann/.codex/config.toml']);
  expect(of('opencode', 'user')[0]).toBe('/home/ann/.config/opencode/opencode.json');
  expect(of('registry', 'project')).toEqual(['/src/shop/server.json']);
});

verifies('C12', 'returns the configuration file of each host on macOS', () => {
  const of = files('darwin');
  const support = '/home/ann/Library/Application Support';
  expect(of('claude-desktop', 'user')).toEqual([`${support}/Claude/claude_desktop_config.json`]);
  expect(of('vscode', 'user')[0]).toBe(`${support}/Code/User/mcp.json`);
  expect(of('zed', 'user')).toEqual(['/home/ann/.config/zed/settings.json']);
});

verifies('C12', 'returns the configuration file of each host on Windows', () => {
  const of = files('win32', { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' });
  expect(of('claude-desktop', 'user')).toEqual([
    'C:\\Users\\ann\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
  ]);
  expect(of('zed', 'user')).toEqual(['C:\\Users\\ann\\AppData\\Roaming\\Zed\\settings.json']);
  expect(of('cursor', 'user')).toEqual(['C:\\Users\\ann\\.cursor\\mcp.json']);
  expect(of('vscode', 'project')).toEqual(['D:\\shop\\.vscode\\mcp.json']);
});

verifies('C12', 'uses the variables that move a host’s folder', () => {
  const of = files('linux', { CODEX_HOME: '/c', XDG_CONFIG_HOME: '/x', COPILOT_HOME: '/p', CLAUDE_CONFIG_DIR: '/a' });
  expect(of('codex', 'user')).toEqual(['/c/config.toml']);
  expect(of('zed', 'user')).toEqual(['/x/zed/settings.json']);
  expect(of('vscode', 'user')).toEqual(['/x/Code/User/mcp.json', '/p/mcp-config.json']);
  expect(of('claude-code', 'local')).toEqual(['/a/.claude.json']);
});
