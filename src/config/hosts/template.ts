/** Something that is put in when the text is used. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string; readonly fallback?: string }
  | { readonly kind: 'folder'; readonly of: 'workspace' | 'user' }
  | { readonly kind: 'secret'; readonly name: string }
  /** The host asks its user. */
  | { readonly kind: 'input'; readonly id: string }
  /** Known to that host alone. */
  | { readonly kind: 'foreign'; readonly text: string };

type Part = string | Reference;

/** How one host writes references into its texts. */
export interface Syntax {
  readonly pattern: RegExp;
  /** What a match of the pattern stands for. */
  read(match: RegExpExecArray): Part;
  /** Undefined when the host has no words for it. */
  print(reference: Reference): string | undefined;
  /** How plain text is kept from being read as a reference. */
  escape?(literal: string): string;
}

export type Translation = { readonly text: string; readonly inputs: readonly string[] } | { readonly lost: string };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const isName = (text: string) => NAME.test(text);

/** Says a text of one host in the words of another, or says why it cannot be said there. */
export function translate(text: string, from: Syntax, to: Syntax): Translation {
  const inputs: string[] = [];
  const parts = parse(text, from).map((part): Part => {
    if (typeof part === 'string' || part.kind !== 'input') return part;
    inputs.push(part.id);
    return { kind: 'variable', name: variableNamed(part.id) };
  });
  const printed = parts.map((part) => (typeof part === 'string' ? (to.escape?.(part) ?? part) : to.print(part)));
  const unsaid = parts.find((_, index) => printed[index] === undefined);
  if (unsaid !== undefined) return { lost: nameOf(unsaid) };
  const result = printed.join('');
  // Reading it back is the proof: plain text must not have become a reference, nor the other way round.
  return same(parse(result, to), parts) ? { text: result, inputs } : { lost: 'a `$` or a brace' };
}

/** `api-key` as the name of an environment variable: `API_KEY`. */
export function variableNamed(id: string): string {
  const name = id.replace(/[^A-Za-z0-9]+/g, '_').toUpperCase();
  return isName(name) ? name : `_${name}`;
}

/** The variable that a text of ours consists of, when it is nothing else. */
export function variableIn(text: string): { readonly name: string; readonly fallback?: string } | undefined {
  const [only, ...more] = parse(text, heddle);
  return typeof only === 'object' && only.kind === 'variable' && more.length === 0 ? only : undefined;
}

/** As `variableIn`, for the name of a variable without a default. */
export function soleVariable(text: string): string | undefined {
  const found = variableIn(text);
  return found?.fallback === undefined ? found?.name : undefined;
}

/** Whether anything in a text of ours is put in later. */
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

const foreign = (text: string): Reference => ({ kind: 'foreign', text });
const variable = (name: string, fallback?: string): Reference => ({
  kind: 'variable',
  name,
  ...(fallback !== undefined && { fallback }),
});

const FOLDERS: Readonly<Record<string, Reference>> = {
  workspaceFolder: { kind: 'folder', of: 'workspace' },
  userHome: { kind: 'folder', of: 'user' },
};
const folderNamed = (name: string): Reference | undefined => (Object.hasOwn(FOLDERS, name) ? FOLDERS[name] : undefined);
const printFolder = (of: 'workspace' | 'user') => (of === 'workspace' ? '${workspaceFolder}' : '${userHome}');

function withFallback(inside: string): Reference | undefined {
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

/** No references at all: text is text. */
export const plain: Syntax = { pattern: /(?!)/g, read: ([whole]) => whole, print: () => undefined };

/** `${VAR}` and `${VAR:-default}`. */
export const shellLike: Syntax = {
  pattern: /\$\{([A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?)\}/g,
  read: ([whole, inside = '']) => withFallback(inside) ?? whole,
  print: (reference) => (reference.kind === 'variable' ? printVariable(reference) : undefined),
};

/** As `shellLike`, and `$VAR` too. */
export const bareDollar: Syntax = {
  pattern: /\$(?:([A-Za-z_]\w*)|\{([^}]+)\})/g,
  read: ([whole, bare, inside = '']) => (bare ? variable(bare) : (withFallback(inside) ?? whole)),
  print: shellLike.print,
};

/** `${env:VAR}` and the folders, as editors of the VS Code family have them. */
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

/** `{env:VAR}`; `{file:path}` is nobody else's. */
export const curlyEnv: Syntax = {
  pattern: /\{env:([^}]+)\}|\{file:[^}]+\}/g,
  read: ([whole, name]) => (name !== undefined && isName(name) ? variable(name) : foreign(whole)),
  print: (reference) =>
    reference.kind === 'variable' && reference.fallback === undefined ? `{env:${reference.name}}` : undefined,
};
