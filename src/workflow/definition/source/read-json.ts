import { type Node, parseTree, printParseErrorCode, visit } from 'jsonc-parser';
import {
  leafTree,
  listTree,
  objectTree,
  requireDepth,
  requireExact,
  requireNewName,
  type SourceMember,
  type SourceTree,
  Unusable,
} from './source-tree.ts';

const PARSE_OPTIONS = { allowTrailingComma: true };

/** Parses JSON with comments and trailing commas. Throws `Unusable`. */
export function readJson(text: string): SourceTree {
  checkSyntax(text);
  const tree = parseTree(text, [], PARSE_OPTIONS);
  if (!tree) throw syntaxError('ValueExpected', 0);
  return toTree(tree);
}

/** Throws the first error. The parser would collect those of each character, and is recursive: the depth is checked, too. */
function checkSyntax(text: string): void {
  let depth = 0;
  const open = (offset: number) => requireDepth(depth++, offset);
  const close = () => depth--;
  function onError(code: number, offset: number): void {
    throw syntaxError(printParseErrorCode(code), offset);
  }
  const visitor = { onError, onObjectBegin: open, onArrayBegin: open, onObjectEnd: close, onArrayEnd: close };
  visit(text, visitor, PARSE_OPTIONS);
}

function syntaxError(code: string, offset: number): Unusable {
  const reason = code.replace(/(?<!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return new Unusable('SYNTAX_INVALID', offset, {
    message: `This is not valid JSON: ${reason}.`,
    fix: 'Correct the JSON there; comments and trailing commas are fine.',
  });
}

function toTree(node: Node): SourceTree {
  const { type, offset, value, children = [] } = node;
  if (type === 'array') return listTree(children.map(toTree), offset);
  if (type === 'object') return toObjectTree(children, offset);
  return leafTree(typeof value === 'number' ? requireExact(value, offset) : value, offset);
}

function toObjectTree(properties: readonly Node[], offset: number): SourceTree {
  const members = new Map<string, SourceMember>();
  for (const { children: [key, value] = [], offset: nameOffset } of properties) {
    const name = String(key?.value);
    requireNewName(name, nameOffset, members);
    members.set(name, { nameOffset, tree: value ? toTree(value) : leafTree(null, nameOffset) });
  }
  return objectTree(members, offset);
}
