import { applyEdits, format, type Node, parseTree } from 'jsonc-parser';
import type { Json } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';

/** The indentation and line ends of a file, for added text. */
interface Layout {
  readonly indent: string;
  readonly newline: string;
}

const DEFAULT_INDENT = '  ';
const LINE_WIDTH = 100;

/** Sets one member of the object at `path`, which must exist. The other text stays as it is. */
export function withMember(text: string, path: readonly string[], member: { name: string; value: Json }): string {
  const object = objectAt(text, path);
  const layout = layoutOf(text);
  const { name, value } = member;
  // Of a repeated name, the last one is in force.
  const existing = object.children?.findLast((property) => nameOf(property) === name)?.children?.[1];
  if (existing !== undefined) {
    const printed = print(value, lineIndent(text, existing.offset), layout);
    return splice(text, existing.offset, existing.offset + existing.length, printed);
  }
  return inserted(text, object, { label: labelOf(name), value, layout });
}

/** Removes every member of a name. Comments on their own lines stay. */
export function withoutMember(text: string, path: readonly string[], name: string): string {
  const property = objectAt(text, path).children?.findLast((child) => nameOf(child) === name);
  return property === undefined ? text : withoutMember(removed(text, property), path, name);
}

/** Appends a value to the array at `path`, which must exist. Comments in the array stay. */
export function withItem(text: string, path: readonly string[], value: Json): string {
  const array = nodeAt(text, path, 'array');
  const isEmpty = text.slice(array.offset + 1, array.offset + array.length - 1).trim() === '';
  if (isEmpty) return splice(text, array.offset, array.offset + array.length, printInline([value]));
  return inserted(text, array, { label: '', value, layout: layoutOf(text) });
}

/** Removes every item of the array at `path` that is this string. Comments on their own lines stay. */
export function withoutItem(text: string, path: readonly string[], value: string): string {
  const item = nodeAt(text, path, 'array').children?.findLast((child) => child.value === value);
  return item === undefined ? text : withoutItem(removed(text, item), path, value);
}

/** Formats a file that is a single line; any other text is returned as it is. */
export function unfolded(text: string): string {
  if (/[\r\n]/.test(text.trim())) return text;
  const options = { tabSize: 2, insertSpaces: true, eol: '\n' };
  return `${applyEdits(text, format(text, undefined, options)).trim()}\n`;
}

/** Returns the object at a path; of a repeated name, the last one. Throws CONFIG_INVALID if it is no object. */
export const objectAt = (text: string, path: readonly string[]): Node => nodeAt(text, path, 'object');

function nodeAt(text: string, path: readonly string[], type: 'object' | 'array'): Node {
  let node = parseTree(text, [], { allowTrailingComma: true });
  for (const step of path) {
    node = node?.children?.findLast((property) => nameOf(property) === step)?.children?.[1];
  }
  if (node?.type === type) return node;
  const subject = path.length === 0 ? 'The file' : `\`${path.join('.')}\``;
  throw new HeddleError('CONFIG_INVALID', `${subject} is not a JSON ${type}, so it cannot be edited.`, {
    fix: 'Correct the file by hand, and run the command again.',
  });
}

export function nameOf(property: Node): string {
  return String(property.children?.[0]?.value);
}

interface Insertion {
  /** The name with its colon, for a member of an object. */
  readonly label: string;
  readonly value: Json;
  readonly layout: Layout;
}

const labelOf = (name: string) => `${JSON.stringify(name)}: `;

function inserted(text: string, object: Node, { label, value, layout }: Insertion): string {
  const { indent, newline } = layout;
  const last = object.children?.at(-1);
  const close = object.offset + object.length - 1;
  const outer = lineIndent(text, object.offset);
  if (last === undefined) {
    const inner = text.slice(object.offset + 1, close).trimEnd(); // May have comments.
    const member = `${outer}${indent}${label}${print(value, outer + indent, layout)}`;
    return splice(text, object.offset + 1, close, `${inner}${newline}${member}${newline}${outer}`);
  }
  const end = last.offset + last.length;
  if (!/[\r\n]/.test(text.slice(object.offset, close))) {
    return splice(text, end, end, `, ${label}${printInline(value)}`);
  }
  const own = startsLine(text, last.offset);
  const depth = own ? lineIndent(text, last.offset) : outer + indent;
  const member = `${newline}${depth}${label}${print(value, depth, layout)}`;
  const comma = commaAfter(text, end);
  const at = lineTail(text, comma ?? end);
  // Inserts after the comment of the last member, and keeps a trailing comma.
  const grown = splice(text, at, at, comma === undefined ? member : `${member},`);
  return comma === undefined ? splice(grown, end, end, ',') : grown;
}

function removed(text: string, property: Node): string {
  const siblings = property.parent?.children ?? [];
  const index = siblings.indexOf(property);
  const end = property.offset + property.length;
  const comma = commaAfter(text, end);
  const before = siblings[index - 1];
  const wholeLine = startsLine(text, property.offset);
  const from = wholeLine ? lineStart(text, property.offset) : property.offset;
  const tail = wholeLine ? lineTail(text, comma ?? end) : (comma ?? end);
  const rest = /^[ \t]*(?:\r\n|\n|\r)?/.exec(text.slice(tail))?.[0].length ?? 0;
  // The same line may continue with `}` or the next member.
  const to = wholeLine && !endsLine(text, tail) ? tail : tail + rest;
  const shorter = splice(text, from, to, '');
  const isLast = index === siblings.length - 1;
  if (!isLast || comma !== undefined || before === undefined) return shorter;
  const orphan = commaAfter(text, before.offset + before.length);
  return orphan === undefined ? shorter : splice(shorter, orphan - 1, orphan, '');
}

/** Returns the offset after the next comma, skipping comments; undefined if there is none. */
function commaAfter(text: string, offset: number): number | undefined {
  const [gap = ''] = /^(?:\s|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(offset)) ?? [];
  const at = offset + gap.length;
  return text[at] === ',' ? at + 1 : undefined;
}

/** Returns the end of the comments on the same line, or `offset` if there are none. */
function lineTail(text: string, offset: number): number {
  const comments = /^(?:[ \t]*\/\*[^\r\n]*?\*\/)*(?:[ \t]*\/\/[^\r\n]*)?/.exec(text.slice(offset))?.[0] ?? '';
  return offset + comments.length;
}

function startsLine(text: string, offset: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset));
}

function endsLine(text: string, offset: number): boolean {
  return /^[ \t]*(?:[\r\n]|$)/.test(text.slice(offset));
}

function lineStart(text: string, offset: number): number {
  return Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
}

function lineIndent(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
}

function layoutOf(text: string): Layout {
  const newline = /\r\n|\n|\r/.exec(text)?.[0] ?? '\n';
  const first = parseTree(text)?.children?.[0];
  const indent = first !== undefined && startsLine(text, first.offset) ? lineIndent(text, first.offset) : '';
  return { newline, indent: indent || DEFAULT_INDENT };
}

/** Prints JSON with short arrays on one line and other members on lines of their own. */
function print(value: Json, depth: string, layout: Layout): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inline = printInline(value);
  const simple = Array.isArray(value) && value.every((item) => typeof item !== 'object' || item === null);
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  if (members.length === 0 || (simple && inline.length + depth.length <= LINE_WIDTH)) return inline;
  const inner = depth + layout.indent;
  const lines = members.map(([name, item]) => {
    const label = Array.isArray(value) ? '' : `${JSON.stringify(name)}: `;
    return `${inner}${label}${print(item as Json, inner, layout)}`;
  });
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}${layout.newline}${lines.join(`,${layout.newline}`)}${layout.newline}${depth}${close}`;
}

function printInline(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => printInline(item as Json)).join(', ')}]`;
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  const printed = members.map(([name, item]) => `${JSON.stringify(name)}: ${printInline(item as Json)}`);
  return printed.length === 0 ? '{}' : `{ ${printed.join(', ')} }`;
}

function splice(text: string, from: number, to: number, replacement: string): string {
  return text.slice(0, from) + replacement + text.slice(to);
}
