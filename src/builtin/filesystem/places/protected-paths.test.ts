import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { aTree, entriesBelow, serve } from '../fixtures.ts';

let tree: ReturnType<typeof aTree>;
beforeEach(() => {
  tree = aTree();
});
afterEach(() => tree.remove());

const PROTECTED = [
  ...[
    'heddle.json',
    'sub/heddle.json',
    'heddle.lock',
    '.mcp.json',
    'opencode.json',
    'opencode.jsonc',
    '.claude.json',
    '.copilot/mcp-config.json',
    '.codeium/windsurf/mcp_config.json',
    'Claude/claude_desktop_config.json',
    'Code/User/mcp.json',
    'u/.config/Code/User/tasks.json',
    'Library/Application Support/Cursor/User/settings.json',
    'AppData/Roaming/Code - Insiders/User/profiles/x/mcp.json',
    '.config/VSCodium/User/keybindings.json',
    '.config/windsurf/user/settings.json',
    '.config/helix/languages.toml',
    'zed/settings.json',
    '.heddle/x',
    '.claude/settings.json',
  ],
  ...[
    '.cursor/mcp.json',
    '.vscode/mcp.json',
    '.gemini/x',
    '.codex/config.toml',
    '.zed/x',
    '.git/hooks/pre-commit',
    '.git',
  ],
  ...[
    'HEDDLE.JSON',
    'Heddle.json',
    '.GIT/config',
    '.Git',
    '.git./config',
    '.git /config',
    '.git::$INDEX/x',
    '.MCP.json',
  ],
  ...['.g\u200cit/config', '.ｇｉｔ/config', 'ｈeddle.json', 'heddle.json.', 'heddle.json:stream', '.VSCode/MCP.json'],
  ...[
    '.gitconfig',
    'u/.config/git/config',
    'u/.Config/Git/ignore',
    '.husky/pre-commit',
    '.githooks/x',
    '.hg/hgrc',
    '.jj/x',
  ],
  ...['.pre-commit-config.yaml', 'lefthook.yml', '.vscode/settings.json', '.vscode/tasks.json', 'x.code-workspace'],
  ...['.idea/workspace.xml', '.devcontainer/devcontainer.json', '.devcontainer.json', '.exrc', 'a/.vimrc', '.nvim.lua'],
  ...[
    '.dir-locals.el',
    '.gdbinit',
    '.lldbinit',
    '.ssh/authorized_keys',
    '.SSH/config',
    '.ｓｓｈ/config',
    '.aws/config',
  ],
  ...['.bashrc', '.zshenv', '.Profile', '.config/fish/config.fish', '.envrc', '.tmux.conf', 'mise.toml', '.xprofile'],
  ...[
    '.bash_completion',
    '.local/share/dbus-1/services/x.service',
    'mise.local.toml',
    '.mise.local.toml',
    '.mise/config.toml',
  ],
  ...['.config/mise.toml', '.config/starship.toml', '.pnp.cjs', '.pnp.loader.mjs'],
  ...[
    '.config/autostart/x.desktop',
    '.config/systemd/user/x.service',
    'Library/LaunchAgents/x.plist',
    'spool/cron/ada',
  ],
  ...['.npmrc', '.yarnrc.yml', '.yarn/releases/yarn.cjs', '.pnpmfile.cjs', 'sitecustomize.py', '.pythonrc', '.psqlrc'],
  ...['lib/site-packages/x.pth', '.cargo/config.toml', '.mvn/extensions.xml', '.gradle/init.d/x.gradle', 'pip.conf'],
  ...[
    '.roo/mcp.json',
    '.kiro/settings/mcp.json',
    '.amazonq/mcp.json',
    '.windsurf/x',
    '.continue/config.yaml',
    '.junie/x',
  ],
  ...[
    'lefthook.toml',
    '.lefthook-local.json',
    '.config/lefthook.yaml',
    '.vscode-server/data/Machine/settings.json',
    '.config/Kiro/User/settings.json',
    '.config/Code - OSS/User/tasks.json',
    'Library/Application Support/Antigravity/User/mcp.json',
    '.local/share/code-server/User/settings.json',
    '.vs/mcp.json',
  ],
  ...['.bashrc.d/x', '.zshrc.local', '.xonshrc', '.config/xonsh/rc.xsh', '.wezterm.lua', '.config/kitty/kitty.conf'],
  ...['.config/sway/config', '.config/i3/config', '.forward', '.rovodev/mcp.json', '.iflow/settings.json'],
  ...['.tabnine/mcp_servers.json', '.codebuddy/x', '.qoder/x', '.lmstudio/mcp.json', '.warp/x', '.grok/settings.json'],
  ...['.qwen/settings.json', '.kilocode/mcp.json', 'crush.json', '.crush.json', 'CRUSH.json', '.opencode/plugin/x.ts'],
  ...[
    'sub/../.git/x',
    './/.git//x',
    'sub/./../heddle.json',
    'to-git/x',
    'to-config',
    '.claude/../.git/x',
    'ſub/.git/x',
  ],
];

verifies('B1', 'never writes files that programs run by themselves, by any spelling or link', async () => {
  const { root } = tree;
  mkdirSync(join(root, '.git'));
  writeFileSync(join(root, '.git/config'), 'old');
  writeFileSync(join(root, 'heddle.json'), '{}');
  symlinkSync('.git', join(root, 'to-git'));
  symlinkSync('heddle.json', join(root, 'to-config'));
  const before = entriesBelow(root);
  const { write } = await serve({ roots: [root] });
  for (const path of PROTECTED) expect.soft((await write(path, 'x')).text, path).toMatch(/never writes/);
  expect(entriesBelow(root)).toEqual(before);
  const ordinary = [
    '.gitignore',
    '.gitattributes',
    '.gitmodules',
    '.github/workflows/x.yml',
    'package.json',
    'Makefile',
  ];
  const similar = [
    'git',
    'heddle.json5',
    'my.git',
    'AGENTS.md',
    '.env',
    '.config/x',
    'head/x',
    'model.pth',
    'ssh/x',
    'src/code/user/model.ts',
    'cursor/user/x',
  ];
  for (const path of [...ordinary, ...similar]) {
    expect.soft((await write(path, 'x')).isError, path).toBe(false);
  }
});
