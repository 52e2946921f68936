// Configuration of Heddle, of other hosts and of git. A tool that writes it could start programs or lift its own limits.
const NAMES: ReadonlySet<string> = new Set([
  'heddle.json',
  'heddle.lock',
  '.mcp.json',
  '.heddle',
  '.claude',
  '.cursor',
  '.gemini',
  '.codex',
  '.zed',
  'opencode.json',
  '.git',
]);

/** Tests whether a path is never written: the configuration of hosts, repositories, and the folders in `hidden`. */
export function isProtected(absolute: string, hidden: readonly string[] = []): boolean {
  const names = foldedNames(absolute);
  return (
    names.some((name, index) => NAMES.has(name) || (name === '.vscode' && names[index + 1] === 'mcp.json')) ||
    hidden.some((folder) => foldedNames(folder).every((name, index) => names[index] === name))
  );
}

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
