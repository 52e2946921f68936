/** Paths that are never written, and the reason. The guide has the same table (test/pins/protected-files). */
interface ProtectedGroup {
  readonly reason: string;
  /** Relative to any folder. A path that ends with `/` is a folder and protects all below it. `*` begins a name. */
  readonly paths: readonly string[];
}

// Without them git finds no repository in a folder. As they are never written, none can be built name by name.
const GIT_MARKS: readonly string[] = ['HEAD', 'commondir'];

// VS Code and editors that are built from it. A project may have a folder `code/user/`, so each has its parent with it.
const EDITOR_FOLDERS: readonly string[] = ['.config', 'Application Support', 'Roaming'].flatMap((parent) =>
  [
    'Code',
    'Code - Insiders',
    'Code - OSS',
    'VSCodium',
    'Cursor',
    'Windsurf',
    'Kiro',
    'Trae',
    'Antigravity',
    'Positron',
  ].map((editor) => `${parent}/${editor}/User/`),
);

// Lefthook reads its configuration in several formats.
const LEFTHOOK_FILES: readonly string[] = ['', '.', '.config/'].flatMap((folder) =>
  ['lefthook', 'lefthook-local'].flatMap((name) =>
    ['yml', 'yaml', 'toml', 'json'].map((format) => `${folder}${name}.${format}`),
  ),
);

/**
 * Files that a program reads by itself to start other programs, or that lift the limits of a caller. A file that runs
 * because a person starts it, such as package.json, is not listed.
 */
export const PROTECTED: readonly ProtectedGroup[] = [
  {
    reason: 'names the servers, rules and pins of Heddle',
    paths: ['heddle.json', 'heddle.lock', '.heddle/'],
  },
  {
    reason: 'names servers, hooks and permissions of an agent',
    paths: [
      ...['.mcp.json', '.claude/', '.claude.json', 'claude_desktop_config.json', '.cursor/', '.copilot/', '.codeium/'],
      ...['.windsurf/', '.gemini/', '.codex/', '.roo/', '.kiro/', '.amazonq/', '.continue/', '.junie/', '.qwen/'],
      ...[
        '.kilocode/',
        '.rovodev/',
        '.iflow/',
        '.tabnine/',
        '.codebuddy/',
        '.qoder/',
        '.lmstudio/mcp.json',
        '.warp/',
        '.grok/',
        '.cline/',
        '.augment/',
        '.factory/',
        '.trae/',
        '.amp/',
        '.openhands/',
        '.opencode/',
      ],
      ...[
        'opencode.json',
        'opencode.jsonc',
        '.crush/',
        'crush.json',
        '.crush.json',
        '.aider.conf.yml',
        '.config/goose/',
      ],
      ...['.config/amp/', '.config/opencode/', '.config/crush/'],
    ],
  },
  {
    reason: 'makes an editor or debugger start programs when it opens a folder or file',
    paths: [
      ...[
        '.vscode/',
        '.vscode-server/',
        '.cursor-server/',
        '.windsurf-server/',
        '.vs/mcp.json',
        '.local/share/code-server/',
        ...EDITOR_FOLDERS,
        'Code/User/mcp.json',
        '*.code-workspace',
        '.zed/',
        'zed/settings.json',
      ],
      ...['.idea/', '.fleet/', '.helix/', '.config/helix/'],
      ...['.devcontainer/', '.devcontainer.json', '.vimrc', '_vimrc', '.gvimrc', '.vim/', '.exrc', '.nvimrc'],
      ...['.nvim.lua', '.config/nvim/', '.emacs', '.emacs.d/', '.config/emacs/', '.dir-locals.el', '.gdbinit'],
      ...['.gdbearlyinit', '.lldbinit'],
    ],
  },
  {
    reason: 'makes git or another version control system run programs',
    paths: [
      ...['.git/', '.gitconfig', '.config/git/', '.husky/', '.githooks/', '.pre-commit-config.yaml', ...LEFTHOOK_FILES],
      ...['.lefthook/', '.overcommit.yml', '.hg/'],
      ...['.hgrc', '.config/hg/', '.jj/', '.config/jj/'],
    ],
  },
  {
    reason: 'makes its folder one that git runs programs for, together with other files',
    paths: GIT_MARKS,
  },
  {
    reason: 'runs when a shell or terminal starts or enters a folder',
    paths: [
      ...[
        '.bashrc',
        '.bash_profile',
        '.bash_login',
        '.bash_logout',
        '.bash_aliases',
        '.bash_completion',
        '.bashrc.d/',
        '.bashrc.local',
        '.profile',
        '.zshrc',
        '.zshenv',
        '.zshrc.d/',
        '.zshrc.local',
        '.xonshrc',
        '.config/xonsh/',
      ],
      ...['.zprofile', '.zlogin', '.zlogout', '.oh-my-zsh/', '.kshrc', '.mkshrc', '.cshrc', '.tcshrc', '.login'],
      ...['.logout', '.inputrc', '.config/fish/', '.config/nushell/', '.config/powershell/', 'profile.ps1'],
      ...[
        'Microsoft.PowerShell_profile.ps1',
        '.envrc',
        '.config/direnv/',
        'mise.toml',
        '.mise.toml',
        'mise.local.toml',
      ],
      ...['.mise.local.toml', '.mise/', '.config/mise.toml', '.config/mise/', '.config/starship.toml'],
      ...[
        '.wezterm.lua',
        '.config/wezterm/',
        '.config/kitty/',
        '.config/alacritty/',
        '.config/ghostty/',
        '.tmux.conf',
        '.config/tmux/',
        '.screenrc',
      ],
    ],
  },
  {
    reason: 'runs when a user logs in, at a time, or when a program needs it',
    paths: [
      ...[
        '.xprofile',
        '.xinitrc',
        '.xsession',
        '.xsessionrc',
        '.pam_environment',
        '.forward',
        '.config/i3/',
        '.config/sway/',
        '.config/hypr/',
        '.config/environment.d/',
      ],
      ...[
        '.config/autostart/',
        '.config/systemd/',
        '.local/share/systemd/',
        '.local/share/dbus-1/services/',
        'Library/LaunchAgents/',
      ],
      ...['Library/LaunchDaemons/', 'Start Menu/Programs/Startup/', 'spool/cron/', 'etc/crontab', 'etc/cron.d/'],
    ],
  },
  {
    reason: 'lets others sign in, or names programs that provide credentials',
    paths: ['.ssh/', '.gnupg/', '.aws/', '.kube/', '.docker/', '.netrc', '_netrc'],
  },
  {
    reason: 'makes a package manager, build tool or interpreter load code by itself, or from another address',
    paths: [
      ...[
        '.npmrc',
        '.yarnrc',
        '.yarnrc.yml',
        '.yarn/',
        '.pnp.cjs',
        '.pnp.loader.mjs',
        '.pnpmfile.cjs',
        '.pnpmfile.mjs',
        'bunfig.toml',
        '.bunfig.toml',
      ],
      ...['pip.conf', 'pip.ini', '.config/pip/', '.cargo/', '.mvn/', '.m2/', '.gradle/', '.bazelrc', '.gemrc'],
      ...['.bundle/', '.irbrc', '.pryrc', '.pythonrc', '.pythonrc.py', 'sitecustomize.py', 'usercustomize.py'],
      ...[
        'site-packages/*.pth',
        'dist-packages/*.pth',
        '.ipython/',
        '.Rprofile',
        '.Renviron',
        '.julia/config/',
        '.ghci',
      ],
      ...['.ocamlinit', '.psqlrc', '.sqliterc', '.my.cnf', '.mylogin.cnf'],
    ],
  },
];

// Each may be a link, so each is looked up by its own path.
const FILES_IN_FOLDERS: readonly string[] = [
  ...['.heddle/local.json', '.heddle/mcp.json', '.claude/mcp.json', '.claude/settings.json'],
  ...['.claude/settings.local.json', '.cursor/mcp.json', '.vscode/mcp.json', '.vscode/settings.json'],
  ...['.vscode/tasks.json', '.copilot/mcp-config.json'],
  ...['.codeium/windsurf/mcp_config.json', '.zed/settings.json', '.gemini/settings.json', '.codex/config.toml'],
  ...['.git/config', '.git/config.worktree', '.git/hooks', '.config/git/config', '.ssh/config'],
  '.ssh/authorized_keys',
  ...EDITOR_FOLDERS.flatMap((folder) => [`${folder}mcp.json`, `${folder}settings.json`]),
];

interface ProtectedPath {
  readonly names: readonly string[];
  readonly isFolder: boolean;
  readonly reason: string;
}

/** Returns the reason for which a path is never written; undefined if it may be. */
export function protectionOf(absolute: string): string | undefined {
  const names = foldedNames(absolute);
  const matches = ({ names: path, isFolder }: ProtectedPath, start: number): boolean =>
    (isFolder ? start + path.length <= names.length : start + path.length === names.length) &&
    path.every((name, index) => isName(names[start + index] ?? '', name));
  for (const start of names.keys()) {
    const found = FOLDED.find((path) => matches(path, start));
    if (found) return found.reason;
  }
  return undefined;
}

/** Tests whether a path is one of the given ones or below it, in any spelling. */
export function isSpelledInside(absolute: string, paths: readonly string[]): boolean {
  const names = foldedNames(absolute);
  return paths.some((path) => foldedNames(path).every((name, index) => names[index] === name));
}

/** Returns the protected paths whose first name is that of an entry of a folder, relative to the folder. */
export function protectedPathsFrom(name: string): readonly string[] {
  const folded = foldName(name);
  const known = FOLDED_BY_FIRST_NAME.get(folded) ?? [];
  const matching = FOLDED_PATTERNS.some((pattern) => isName(folded, pattern)) ? [name] : [];
  return [...known.map(([, ...rest]) => [name, ...rest].join('/')), ...matching];
}

const isName = (name: string, pattern: string): boolean =>
  pattern.startsWith('*') ? name.endsWith(pattern.slice(1)) : name === pattern;

const foldedNames = (path: string): readonly string[] => path.split(/[/\\]/).filter(Boolean).map(foldName);

/**
 * Returns one spelling for all names that some file system treats as equal: without case, Unicode form, invisible
 * characters, a stream (`:`), and dots and spaces at the end.
 */
function foldName(name: string): string {
  const visible = name.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const folded = visible.toUpperCase().toLowerCase();
  return folded.replace(/:.*$/s, '').replace(/[. ]+$/, '');
}

const FOLDED: readonly ProtectedPath[] = PROTECTED.flatMap(({ reason, paths }) =>
  paths.map((path) => ({ names: foldedNames(path), isFolder: path.endsWith('/'), reason })),
);
const FOLDED_PATTERNS = FOLDED.flatMap(({ names: [first = '', ...rest] }) =>
  first.startsWith('*') && rest.length === 0 ? [first] : [],
);
const LINKABLE = [...PROTECTED.flatMap(({ paths }) => paths), ...FILES_IN_FOLDERS]
  .filter((path) => !path.includes('*') && !GIT_MARKS.includes(path))
  .map((path) => path.split('/').filter(Boolean));
const FOLDED_BY_FIRST_NAME = Map.groupBy(
  LINKABLE.map((names) => names.map(foldName)),
  ([first = '']) => first,
);
/** The first names of the protected paths that may be links. */
export const PROTECTED_FIRST_NAMES: readonly string[] = [...new Set(LINKABLE.map(([first = '']) => first))];
