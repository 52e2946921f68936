import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { ROOT } from '../house/temporary-tree.ts';
import { verifies } from '../requirements.ts';

const SOCKET_MODULE =
  /^(undici|ws|pg|(node:)?(net|tls|https?|http2|dgram|dns|dns\/promises|inspector|inspector\/promises))($|\/)/;
const MENTIONS_SOCKETS = /'(undici|ws|pg)|'(node:)?(net|tls|http|dgram|dns|inspector)|fetch|WebSocket|EventSource/;
const SOCKET_GLOBALS = new Set(['fetch', 'WebSocket', 'EventSource']);

// Every module that can open a socket, with what it imports for that. A new row needs a reason: documents from the
// network are fetched with `guardedFetch` alone.
const PINNED: Readonly<Record<string, readonly string[]>> = {
  // The one guarded fetch: metadata, keys, tokens, remote configurations.
  'src/egress/address-kind.ts': ['node:net BlockList isIPv4 isIPv6'],
  'src/egress/guarded-fetch.ts': ['node:dns/promises lookup', 'node:net isIP', 'undici *'],
  'src/egress/proxy-agent.ts': ['undici ProxyAgent'],
  // The transports to configured servers, and the check whether one can be reached.
  'src/upstream/transports/http-pool.ts': ['undici *'],
  'src/upstream/transports/ws-transport.ts': ['ws WebSocket'],
  'src/upstream/doctor/reach.ts': ['node:net connect'],
  // The gateway listens, and commands call a gateway of this machine.
  'src/gateway/node-http.ts': ['node:http *'],
  'src/gateway/transports/serve-ws.ts': ['ws *'],
  'src/gateway/transports/ws-transport.ts': ['ws WebSocket'],
  // The listener for the redirect of a sign-in.
  'src/cli/auth/loopback-listener.ts': ['node:http createServer'],
  // The driver of the store.
  'src/store/postgres/open-pool.ts': ['pg *'],
  // The driver of configured Postgres databases.
  'src/builtin/database/postgres/postgres-pool.ts': ['pg *'],
};

/** Returns the socket modules that a source uses at run time, each with the imported names. */
function socketsOf(path: string, text: string): readonly string[] {
  if (!MENTIONS_SOCKETS.test(text)) return []; // Parsing every source takes seconds.
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const declared = new Set<string>();
  const called: string[] = [];
  function walk(node: ts.Node): void {
    if (ts.isImportDeclaration(node)) found.push(...staticImport(node));
    if (ts.isCallExpression(node)) found.push(...dynamicImport(node));
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) called.push(node.expression.getText());
    if ((ts.isBindingElement(node) || ts.isVariableDeclaration(node) || ts.isParameter(node)) && node.name)
      declared.add(node.name.getText());
    if ((ts.isImportSpecifier(node) || ts.isFunctionDeclaration(node)) && node.name) declared.add(node.name.text);
    ts.forEachChild(node, walk);
  }
  walk(source);
  const globals = called.map((name) => name.replace(/^globalThis\./, '')).filter((name) => SOCKET_GLOBALS.has(name));
  const undeclared = globals.filter((name) => !declared.has(name)).map((name) => `global ${name}`);
  return [...new Set([...found, ...undeclared])].toSorted();
}

function staticImport({ moduleSpecifier, importClause }: ts.ImportDeclaration): readonly string[] {
  const module = (moduleSpecifier as ts.StringLiteral).text;
  if (!SOCKET_MODULE.test(module) || importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return [];
  const bindings = importClause?.namedBindings;
  if (!bindings || !ts.isNamedImports(bindings) || importClause.name) return [`${module} *`];
  const names = bindings.elements
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => (propertyName ?? name).text);
  return names.length === 0 ? [] : [`${module} ${names.join(' ')}`];
}

function dynamicImport({ expression, arguments: [first] }: ts.CallExpression): readonly string[] {
  const isImport =
    expression.kind === ts.SyntaxKind.ImportKeyword || /(^require|getBuiltinModule)$/.test(expression.getText());
  return isImport && first && ts.isStringLiteral(first) && SOCKET_MODULE.test(first.text) ? [`${first.text} *`] : [];
}

verifies('A7', 'only the pinned modules can open a socket', () => {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !/(\.test|\/fixtures)\.ts$/.test(file));
  const found = files.flatMap((file): [string, readonly string[]][] => {
    const sockets = socketsOf(file, readFileSync(join(ROOT, file), 'utf8'));
    return sockets.length > 0 ? [[file, sockets]] : [];
  });
  expect(Object.fromEntries(found)).toEqual(PINNED);
});

it('finds every way to open a socket', () => {
  const found = (text: string) => socketsOf('planted.ts', text);
  expect(found(`import { connect, type Socket } from 'node:net';`)).toEqual(['node:net connect']);
  expect(found(`import * as tls from 'tls';`)).toEqual(['tls *']);
  expect(found(`const { Agent } = await import('undici');`)).toEqual(['undici *']);
  expect(found(`process.getBuiltinModule('node:http');`)).toEqual(['node:http *']);
  expect(found(`await fetch('https://a.example'); new WebSocket(url); globalThis.fetch(url);`)).toEqual([
    ...['global WebSocket', 'global fetch'],
  ]);
  expect(found(`import type { Socket } from 'node:net'; import { type Pool } from 'pg';`)).toEqual([]);
  expect(found(`const get = ({ fetch }) => fetch('https://a.example');`)).toEqual([]);
});
