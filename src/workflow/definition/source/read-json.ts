import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
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

/** Parses JSON with comments and trailing commas. Throws `Unusable`. */
export function readJson(text: string): SourceTree {
  checkDepth(text);
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error || !tree) {
    const reason = (error ? printParseErrorCode(error.error) : 'ValueExpected').replace(
      /(?<!^)[A-Z]/g,
      (letter) => ` ${letter.toLowerCase()}`,
    );
    throw new Unusable('SYNTAX_INVALID', error?.offset ?? 0, {
      message: `This is not valid JSON: ${reason}.`,
      fix: 'Correct the JSON there; comments and trailing commas are fine.',
    });
  }
  return toTree(tree);
}

/** The parser is recursive, so the depth is checked before it runs. */
function checkDepth(text: string): void {
  const scanner = createScanner(text, true);
  let depth = 0;
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const first = text[scanner.getTokenOffset()];
    if (first === '{' || first === '[') requireDepth(depth++, scanner.getTokenOffset());
    if (first === '}' || first === ']') depth--;
  }
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
