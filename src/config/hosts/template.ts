/** A part of a text that is replaced when the text is used. */
export type HostReference =
  | { readonly kind: 'variable'; readonly name: string; readonly fallback?: string }
  | { readonly kind: 'folder'; readonly of: 'workspace' | 'user' }
  | { readonly kind: 'secret'; readonly name: string }
  /** The host prompts its user for the value. */
  | { readonly kind: 'input'; readonly id: string }
  /** A reference that only this host has. */
  | { readonly kind: 'foreign'; readonly text: string };

type Part = string | HostReference;

/** The syntax of references in the texts of one host. */
export interface Syntax {
  readonly pattern: RegExp;
  /** Returns the reference or the plain text for a match of the pattern. */
  read(match: RegExpExecArray): Part;
  /** Returns the text of a reference; undefined if the syntax cannot express it. */
  print(reference: HostReference): string | undefined;
  /** Escapes plain text that would be read as a reference. */
  escape?(literal: string): string;
}

export type Translation = { readonly text: string; readonly inputs: readonly string[] } | { readonly lost: string };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const isName = (text: string) => NAME.test(text);

/** Translates a text from one syntax to another. `lost` names the part that the other syntax cannot express. */
export function translate(text: string, from: Syntax, to: Syntax): Translation {
  const inputs: string[] = [];
  const parts = parse(text, from).map((part): Part => {
    if (typeof part === 'string' || part.kind !== 'input') return part;
    inputs.push(part.id);
    return { kind: 'variable', name: variableNamed(part.id) };
  });
  const printed = parts.map((part) => (typeof part === 'string' ? (to.escape?.(part) ?? part) : to.print(part)));
  const untranslated = parts.find((_, index) => printed[index] === undefined);
  if (untranslated !== undefined) return { lost: nameOf(untranslated) };
  const result = printed.join('');
  // The result is parsed again: plain text must not become a reference, nor a reference plain text.
  return same(parse(result, to), parts) ? { text: result, inputs } : { lost: 'a `$` or a brace' };
}

/** Converts an id such as `api-key` to the name of an environment variable, `API_KEY`. */
export function variableNamed(id: string): string {
  const name = id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase();
  return isName(name) ? name : `_${name}`;
}

/** Returns the variable of a Heddle text that is a single reference; undefined for any other text. */
export function variableIn(text: string): { readonly name: string; readonly fallback?: string } | undefined {
  const [only, ...more] = parse(text, heddle);
  return typeof only === 'object' && only.kind === 'variable' && more.length === 0 ? only : undefined;
}

/** Returns the name of `variableIn`, if the variable has no default. */
export function soleVariable(text: string): string | undefined {
  const found = variableIn(text);
  return found?.fallback === undefined ? found?.name : undefined;
}

/** Tells whether a Heddle text has a reference. */
export const hasReference = (text: string): boolean => parse(text, heddle).some((part) => typeof part !== 'string');

function parse(text: string, { pattern, read }: Syntax): readonly Part[] {
  const parts: Part[] = [];
  const add = (part: Part): void => {
    const last = parts.at(-1);
    if (part === '') return;
    if (typeof part === 'string' && typeof last === 'string') parts[parts.length - 1] = last + part;
    else parts.push(part);
  };
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    add(text.slice(end, match.index));
    add(read(match));
    end = match.index + match[0].length;
  }
  add(text.slice(end));
  return parts;
}

const same = (a: readonly Part[], b: readonly Part[]): boolean => JSON.stringify(a) === JSON.stringify(b);

function nameOf(part: Part): string {
  if (typeof part === 'string') return 'plain text';
  switch (part.kind) {
    case 'variable':
      return part.fallback === undefined ? `the variable \`${part.name}\`` : `a default for \`${part.name}\``;
    case 'folder':
      return part.of === 'workspace' ? 'the workspace folder' : 'the home folder';
    case 'secret':
      return `the secret \`${part.name}\``;
    case 'input':
      return `the input \`${part.id}\``;
    case 'foreign':
      return `\`${part.text}\``;
  }
}

const foreign = (text: string): HostReference => ({ kind: 'foreign', text });
const variable = (name: string, fallback?: string): HostReference => ({
  kind: 'variable',
  name,
  ...(fallback !== undefined && { fallback }),
});

const FOLDERS: Readonly<Record<string, HostReference>> = {
  workspaceFolder: { kind: 'folder', of: 'workspace' },
  userHome: { kind: 'folder', of: 'user' },
};
const folderNamed = (name: string): HostReference | undefined =>
  Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined;
const printFolder = (of: 'workspace' | 'user') => (of === 'workspace' ? '${workspaceFolder}' : '${userHome}');

function withFallback(inside: string): HostReference | undefined {
  const [, name, fallback] = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s.exec(inside) ?? [];
  return name === undefined ? undefined : variable(name, fallback);
}

function printVariable({ name, fallback }: { readonly name: string; readonly fallback?: string }): string | undefined {
  if (fallback === undefined) return `\${${name}}`;
  return /[{}]/.test(fallback) ? undefined : `\${${name}:-${fallback}}`;
}

/** `${VAR}`, `${VAR:-default}`, `${workspaceFolder}`, `${userHome}`, `${secret:name}`; `$${` for `${`. */
export const heddle: Syntax = {
  pattern: /\$\$\{|\$\{([^}]*)\}?/g,
  read([whole, inside]) {
    if (inside === undefined) return '${';
    if (!whole.endsWith('}') || /:-.*\$\{/s.test(inside)) return foreign(whole);
    if (inside.startsWith('secret:')) return { kind: 'secret', name: inside.slice('secret:'.length) };
    return folderNamed(inside) ?? withFallback(inside.replace(/^env:/, '')) ?? foreign(whole);
  },
  print(reference) {
    if (reference.kind === 'folder') return printFolder(reference.of);
    if (reference.kind === 'secret') return `\${secret:${reference.name}}`;
    if (reference.kind !== 'variable') return undefined;
    return folderNamed(reference.name) ? `\${env:${reference.name}}` : printVariable(reference);
  },
  escape: (literal) => literal.split('${').join('$${'),
};

/** The syntax without references. */
export const plain: Syntax = { pattern: /(?!)/g, read: ([whole]) => whole, print: () => undefined };

/** The syntax `${VAR}` and `${VAR:-default}`. */
export const shellLike: Syntax = {
  pattern: /\$\{([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)\}/g,
  read: ([whole, inside = '']) => withFallback(inside) ?? whole,
  print: (reference) => (reference.kind === 'variable' ? printVariable(reference) : undefined),
};

/** The syntax of `shellLike`, with `$VAR`. */
export const bareDollar: Syntax = {
  pattern: /\$(?:([A-Za-z_]\w*)|\{([^}]+)\})/g,
  read: ([whole, bare, inside = '']) => (bare ? variable(bare) : (withFallback(inside) ?? whole)),
  print: shellLike.print,
};

/** Makes the syntax of editors of the VS Code family: `${env:VAR}` and folders. */
export function editorLike(knows: (inside: string) => Part | undefined, folders = true): Syntax {
  return {
    pattern: /\$\{([^}]*)\}/g,
    read([whole, inside = '']) {
      const name = /^env:(.*)$/.exec(inside)?.[1];
      if (name !== undefined) return isName(name) ? variable(name) : foreign(whole);
      return (folders ? folderNamed(inside) : undefined) ?? knows(inside) ?? whole;
    },
    print(reference) {
      if (reference.kind === 'folder') return folders ? printFolder(reference.of) : undefined;
      return reference.kind === 'variable' && reference.fallback === undefined
        ? `\${env:${reference.name}}`
        : undefined;
    },
  };
}

/** The syntax `{env:VAR}`. `{file:path}` cannot be translated. */
export const curlyEnv: Syntax = {
  pattern: /\{env:([^}]+)\}|\{file:[^}]+\}/g,
  read: ([whole, name]) => (name !== undefined && isName(name) ? variable(name) : foreign(whole)),
  print: (reference) =>
    reference.kind === 'variable' && reference.fallback === undefined ? `{env:${reference.name}}` : undefined,
};
