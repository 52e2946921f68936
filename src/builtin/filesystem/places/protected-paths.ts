/**
 * Configuration of Heddle, of other hosts and of git, relative to any folder. A tool that writes it could start programs
 * or lift its own limits. A folder protects all below it. Its files are listed too, because each may be a link.
 */
export const PROTECTED_PATHS: readonly string[] = [
  ...['heddle.json', 'heddle.lock', '.heddle', '.heddle/local.json', '.heddle/mcp.json', '.mcp.json'],
  ...['.claude', '.claude/mcp.json', '.claude/settings.json', '.claude/settings.local.json', '.claude.json'],
  ...['claude_desktop_config.json', '.cursor', '.cursor/mcp.json', '.vscode/mcp.json', 'Code/User/mcp.json'],
  ...['.copilot', '.copilot/mcp-config.json', '.codeium/windsurf/mcp_config.json'],
  ...['.zed', '.zed/settings.json', 'zed/settings.json', '.gemini', '.gemini/settings.json'],
  ...['.codex', '.codex/config.toml', 'opencode.json', 'opencode.jsonc', '.git', '.git/config', '.git/hooks'],
];

/** Tests whether a path is never written: the configuration of hosts, repositories, and the paths in `more`. */
export function isProtected(absolute: string, more: readonly string[] = []): boolean {
  const names = foldedNames(absolute);
  return (
    names.some((_, index) => FOLDED.some((path) => beginsWith(names.slice(index), path))) ||
    more.some((path) => beginsWith(names, foldedNames(path)))
  );
}

/** Returns the protected paths whose first name is that of an entry of a folder, relative to the folder. */
export function protectedPathsFrom(name: string): readonly string[] {
  const folded = foldName(name);
  return FOLDED.flatMap(([first, ...rest]) => (first === folded ? [[name, ...rest].join('/')] : []));
}

const beginsWith = (names: readonly string[], path: readonly string[]): boolean =>
  path.every((name, index) => names[index] === name);

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

const FOLDED: readonly (readonly string[])[] = PROTECTED_PATHS.map(foldedNames);
