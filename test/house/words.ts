import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/** A source or text file, with its path from the repository's root. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Words that MCP, HTTP or TypeScript have a name for; see the glossary in ARCHITECTURE.md. */
const RETIRED_WORDS = new Set(
  'line face door doors room rooms visit visits abilities asked asking question questions handout handouts'
    .split(' ')
    .concat('outlet situation teller tellers learner shelf'.split(' ')),
);

/** Exported names in which `line` is a line of text. */
const TEXT_LINES = new Set(['lineFramer', 'oneLine']);

const FORBIDDEN_START = /\/\*\*[\s*]*(What|Who|Whoever|Which|Whether|Where|Of|As|Told|One)\b/g;
const FORBIDDEN_PRONOUN = /\b(whoever|somebody|nobody|everybody)\b/gi;
/** The Unix user, in quotes or as the owner of a process. */
const UNIX_USER = /(['"`])nobody\1|user nobody|nobody:/g;

/** Returns one message per violation, each with its path and line. */
export function findWordProblems(files: readonly SourceText[]): string[] {
  return files.flatMap((file) => [
    ...(isProductSource(file) ? retiredNames(file) : []),
    ...(isChecker(file) ? [] : [...forbiddenStarts(file), ...forbiddenPronouns(file)]),
  ]);
}

/** Names exported by more than one file of src, each with its files. */
export function findRepeatedNames(files: readonly SourceText[], allowed: ReadonlySet<string>): string[] {
  const places = new Map<string, string[]>();
  for (const file of files.filter(isProductSource)) {
    for (const { name } of exportedNames(file)) places.set(name, [...(places.get(name) ?? []), file.path]);
  }
  return [...places]
    .filter(([name, paths]) => paths.length > 1 && !allowed.has(name))
    .map(([name, paths]) => `${name} is exported by ${paths.join(', ')}`);
}

/** Reads the files below the folders whose names end in one of the extensions. */
export function readFiles(root: string, folders: readonly string[], extensions: readonly string[]): SourceText[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => extensions.some((extension) => name.endsWith(extension)) && !name.includes('node_modules'))
      .map((name) => read(root, join(folder, name))),
  );
}

export const read = (root: string, path: string): SourceText => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
});

const isProductSource = ({ path }: SourceText) => path.startsWith('src/') && !/(\.test|\/fixtures)\.ts$/.test(path);
const isChecker = ({ path }: SourceText) => path.startsWith('test/house/words');
const forbiddenStarts = (file: SourceText) =>
  matches(file, FORBIDDEN_START, (word) => `a doc comment begins with "${word}"`);
const forbiddenPronouns = (file: SourceText) =>
  matches({ ...file, text: withoutUnixUser(file.text) }, FORBIDDEN_PRONOUN, (word) => `"${word}"`);
const withoutUnixUser = (text: string) => text.replace(UNIX_USER, '');

function retiredNames(file: SourceText): string[] {
  return exportedNames(file).flatMap(({ name, line }) => {
    const word = wordsOf(name).find((one) => RETIRED_WORDS.has(one));
    return word && !TEXT_LINES.has(name) ? [`${file.path}:${line}: the exported name ${name} contains "${word}"`] : [];
  });
}

const wordsOf = (name: string) =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .split(' ');

function exportedNames({ path, text }: SourceText): { readonly name: string; readonly line: number }[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return source.statements.filter(isExported).flatMap((statement) =>
    namesOf(statement).map((name) => ({
      name: name.text,
      line: source.getLineAndCharacterOfPosition(name.getStart(source)).line + 1,
    })),
  );
}

const isExported = (statement: ts.Statement) =>
  ts.canHaveModifiers(statement) &&
  (ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);

function namesOf(statement: ts.Statement): ts.Identifier[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name).filter(ts.isIdentifier);
  }
  const { name } = statement as ts.DeclarationStatement;
  return name && ts.isIdentifier(name) ? [name] : [];
}

function matches({ path, text }: SourceText, pattern: RegExp, describe: (word: string) => string): string[] {
  return [...text.matchAll(pattern)].map(
    ({ index, 0: all, 1: word = all }) => `${path}:${text.slice(0, index).split('\n').length}: ${describe(word)}`,
  );
}
