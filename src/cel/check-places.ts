import { oneLine } from '../core/text/visible-text.ts';
import { VARIABLES } from './condition.ts';
import type { ExpressionProblem } from './describe-error.ts';
import { isHostPattern } from './host-is.ts';
import type { SyntaxNode } from './meter.ts';
import { isPlainFolder } from './path-inside.ts';
import { methodCall, walk } from './syntax.ts';

const TEXT_TESTS: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains', 'matches']);
const ACCESSES: ReadonlySet<string> = new Set(['.', '.?', '[]', '[?]']);
const MAX_SHOWN_CHARS = 60;

/** Finds a literal folder of `path.inside` or pattern of `host.is` that can match nothing. */
export function findWrongPlace(root: SyntaxNode): ExpressionProblem | undefined {
  let found: ExpressionProblem | undefined;
  walk(root, (node) => {
    found ??= wrongPlace(node);
  });
  return found;
}

function wrongPlace(node: SyntaxNode): ExpressionProblem | undefined {
  const [name, receiver, [, wanted] = []] = methodCall(node) ?? [];
  if (receiver?.op !== 'id' || wanted?.op !== 'value' || typeof wanted.args !== 'string') return undefined;
  const { args: text, start: offset } = wanted;
  if (receiver.args === 'path' && name === 'inside' && !isPlainFolder(text)) {
    const message = `the folder ${shown(JSON.stringify(text))} of \`path.inside\` is not a plain absolute path`;
    return { message, fix: 'Write it as `"/team"`, without `..`, `%20` or a backslash.', offset };
  }
  if (receiver.args === 'host' && name === 'is' && !isHostPattern(text)) {
    const message = `the pattern ${shown(JSON.stringify(text))} of \`host.is\` is not a host`;
    return { message, fix: 'Write `"example.com"`, or `"*.example.com"` for the names below it.', offset };
  }
  return undefined;
}

type Located = SyntaxNode & { readonly end: number };

/**
 * Finds tests of an argument as text that look like tests of a path or a host: `args.p.startsWith("/team/")` is true for
 * `/team/../etc`. A name that an expression binds, as in `exists(p, …)`, counts as an argument.
 */
export function findTextTests(root: SyntaxNode, source: string): readonly ExpressionProblem[] {
  const found: ExpressionProblem[] = [];
  walk(root, (node) => {
    const [name = '', receiver, [literal] = []] = methodCall(node) ?? [];
    if (!receiver || !TEXT_TESTS.has(name) || literal?.op !== 'value' || typeof literal.args !== 'string') return;
    if (!isArgument(receiver)) return;
    const text = literal.args;
    const value = shown(source.slice(receiver.start, (receiver as Located).end));
    const problem = pathTest(name, text, value) ?? hostTest(text, value, isNamedUrl(receiver));
    if (problem) found.push({ ...problem, offset: node.start });
  });
  return found;
}

type TextTest = Omit<ExpressionProblem, 'offset'>;

function pathTest(name: string, text: string, value: string): TextTest | undefined {
  const isPrefix = name === 'startsWith' && /^\/[^/]/.test(text);
  if (!isPrefix && !(name === 'matches' && isLoosePath(text))) return undefined;
  const plain = text.endsWith('/') ? text.slice(0, -1) : text;
  const folder = isPrefix && isPlainFolder(plain) ? plain : '/folder';
  const message = `it tests a path as text, and ${shown(`${folder}/../etc`)} is another folder`;
  return { message, fix: `Replace only this test with \`path.inside(${value}, ${JSON.stringify(folder)})\`.` };
}

/** Returns true for a pattern that begins with a folder and lets any text follow. */
const isLoosePath = (pattern: string): boolean =>
  /^\^\\?\/[^/]/.test(pattern) && (!pattern.endsWith('$') || /\.[*+]|\[\^/.test(pattern));

const URL_START = /^\^?(?:https?|wss?|ftp):\\?\/\\?\/(.+)/i;
const URL_NAME = /(?:ur[il]|href|link|endpoint|webhook)s?$/i;
const HOST = /[a-z0-9-]\\?\.[a-z]{2,}/i;
const FILE_NAME = /\.(?:csv|git|gz|html?|jpe?g|js|json|md|pdf|png|svg|txt|xml|ya?ml|zip)\$?$/i;

function hostTest(text: string, value: string, isUrl: boolean): TextTest | undefined {
  const [, rest] = URL_START.exec(text) ?? [];
  const isHost = HOST.test(rest ?? text) && !FILE_NAME.test(text);
  if (!isHost || (rest === undefined && !isUrl)) return undefined;
  const written = (rest ?? text).split(/[/:?#]/, 1)[0] ?? '';
  const pattern = written.startsWith('.') ? `*${written}` : written;
  const wanted = isHostPattern(pattern) ? pattern.toLowerCase() : '*.example.com';
  const message = `it tests a host as text, and ${shown(`https://evil.net/?${wanted.replace('*', 'a')}`)} is another host`;
  return { message, fix: `Replace only this test with \`host.is(${value}, ${JSON.stringify(wanted)})\`.` };
}

/** Returns true if a value comes from the arguments, or from a name that the expression binds. */
function isArgument(node: SyntaxNode): boolean {
  if (node.op === 'id') return node.args === 'args' || !(VARIABLES as readonly unknown[]).includes(node.args);
  const below = readFrom(node);
  return below !== undefined && isArgument(below);
}

/** Returns the value that an access, a method or a function reads first. */
function readFrom(node: SyntaxNode): SyntaxNode | undefined {
  if (ACCESSES.has(node.op)) return (node.args as readonly [SyntaxNode])[0];
  if (node.op === 'call') return (node.args as readonly [string, readonly SyntaxNode[]])[1][0];
  return methodCall(node)?.[1];
}

function isNamedUrl(node: SyntaxNode): boolean {
  if (node.op === 'id') return URL_NAME.test(String(node.args));
  const below = readFrom(node);
  if (!ACCESSES.has(node.op)) return below !== undefined && isNamedUrl(below);
  const [, field] = node.args as readonly [SyntaxNode, string | SyntaxNode];
  return URL_NAME.test(String(typeof field === 'string' ? field : field.args));
}

const shown = (text: string) => oneLine(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text);
