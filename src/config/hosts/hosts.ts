import { posix, win32 } from 'node:path';
import type { JsonPath } from '../document.ts';
import { claudeCode } from './claude-code.ts';
import { claudeDesktop } from './claude-desktop.ts';
import { codex } from './codex.ts';
import { cursor } from './cursor.ts';
import { geminiCli } from './gemini-cli.ts';
import type { HostFormat } from './host-format.ts';
import { opencode } from './opencode.ts';
import { registry } from './registry.ts';
import { vsCode } from './vs-code.ts';
import { windsurf } from './windsurf.ts';
import { zed } from './zed.ts';

export const HOSTS = {
  'claude-code': claudeCode,
  'claude-desktop': claudeDesktop,
  cursor,
  vscode: vsCode,
  windsurf,
  zed,
  gemini: geminiCli,
  codex,
  opencode,
  registry,
} as const satisfies Readonly<Record<string, HostFormat>>;

export type HostName = keyof typeof HOSTS;
/** A host that is an application. The registry is none. */
export type ApplicationName = Exclude<HostName, 'registry'>;
export const HOST_NAMES = Object.keys(HOSTS) as readonly HostName[];

/** The scope of a host's file: all projects of the user, all users of one project, or the user in one project. */
export type HostScope = 'user' | 'project' | 'local';

/** A file in which a host keeps servers; it need not exist. */
export interface HostFile {
  readonly host: HostName;
  readonly scope: HostScope;
  readonly file: string;
  /** The path in the file, if it is not the host's usual one. */
  readonly at?: JsonPath;
}

export interface HostMachine {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly projectFolder: string;
}

/** Lists the files in which hosts keep the servers of this user and project. */
export function hostFiles(machine: HostMachine): readonly HostFile[] {
  const { env, userHome, projectFolder } = machine;
  const { join } = machine.platform === 'win32' ? win32 : posix;
  const xdg = env.XDG_CONFIG_HOME || join(userHome, '.config');
  const applications = applicationFolder(machine, xdg);
  const user = (host: HostName, file: string): HostFile => ({ host, scope: 'user', file });
  const home = (host: HostName, ...steps: string[]): HostFile => user(host, join(userHome, ...steps));
  const project = (host: HostName, ...steps: string[]): HostFile => ({
    host,
    scope: 'project',
    file: join(projectFolder, ...steps),
  });
  const claude = join(env.CLAUDE_CONFIG_DIR || userHome, '.claude.json');

  return [
    user('claude-code', claude),
    { host: 'claude-code', scope: 'local', file: claude, at: ['projects', projectFolder, 'mcpServers'] },
    project('claude-code', '.mcp.json'),
    user('claude-desktop', join(applications, 'Claude', 'claude_desktop_config.json')),
    home('cursor', '.cursor', 'mcp.json'),
    project('cursor', '.cursor', 'mcp.json'),
    user('vscode', join(applications, 'Code', 'User', 'mcp.json')),
    { ...user('vscode', join(env.COPILOT_HOME || join(userHome, '.copilot'), 'mcp-config.json')), at: ['mcpServers'] },
    project('vscode', '.vscode', 'mcp.json'),
    home('windsurf', '.codeium', 'windsurf', 'mcp_config.json'),
    user('zed', zedSettings(machine, xdg)),
    project('zed', '.zed', 'settings.json'),
    home('gemini', '.gemini', 'settings.json'),
    project('gemini', '.gemini', 'settings.json'),
    user('codex', join(env.CODEX_HOME || join(userHome, '.codex'), 'config.toml')),
    project('codex', '.codex', 'config.toml'),
    user('opencode', join(xdg, 'opencode', 'opencode.json')),
    user('opencode', join(xdg, 'opencode', 'opencode.jsonc')),
    project('opencode', 'opencode.json'),
    project('opencode', 'opencode.jsonc'),
    project('registry', 'server.json'),
  ];
}

/** Returns the folder of the settings of desktop applications. */
function applicationFolder({ platform, env, userHome }: HostMachine, xdg: string): string {
  if (platform === 'darwin') return posix.join(userHome, 'Library', 'Application Support');
  return platform === 'win32' ? roaming(env, userHome) : xdg;
}

// Zed uses ~/.config on macOS too.
function zedSettings({ platform, env, userHome }: HostMachine, xdg: string): string {
  return platform === 'win32'
    ? win32.join(roaming(env, userHome), 'Zed', 'settings.json')
    : posix.join(xdg, 'zed', 'settings.json');
}

const roaming = (env: HostMachine['env'], userHome: string) =>
  env.APPDATA || win32.join(userHome, 'AppData', 'Roaming');
