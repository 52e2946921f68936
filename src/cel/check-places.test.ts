import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compileExpression } from './compile-expression.ts';

function warningsOf(source: string) {
  const condition = compileExpression(source);
  if (!('evaluate' in condition)) throw new Error(`${source}: ${condition.message}`);
  return condition.warnings;
}

verifies('G3', 'finds tests of a path or a host as text, and writes the function instead', () => {
  const found: readonly [source: string, offset: number, fix: string][] = [
    ['!args.source.startsWith("/team/")', 1, 'path.inside(args.source, "/team")'],
    ['args.a["b"].lowerAscii().startsWith("/etc")', 0, 'path.inside(args.a["b"].lowerAscii(), "/etc")'],
    ['args.l.exists(p, p.startsWith("/etc/"))', 17, 'path.inside(p, "/etc")'],
    ['args.p.matches("^/team/.*$")', 0, 'path.inside(args.p, "/folder")'],
    ['args.p.startsWith("/team/../x")', 0, 'path.inside(args.p, "/folder")'],
    ['has(args.p) && string(args.p).startsWith("/a")', 15, 'path.inside(string(args.p), "/a")'],
    ['args.target.startsWith("https://Example.com")', 0, 'host.is(args.target, "example.com")'],
    ['args.url.endsWith(".example.com")', 0, 'host.is(args.url, "*.example.com")'],
    ['args.imageUrl.contains("example.com")', 0, 'host.is(args.imageUrl, "example.com")'],
    ['args.url.matches("^https://([a-z]+\\\\.)?example\\\\.com")', 0, 'host.is(args.url, "*.example.com")'],
    ['args.callback_url.matches("example\\\\.com")', 0, 'host.is(args.callback_url, "*.example.com")'],
  ];
  for (const [source, offset, fix] of found) {
    expect(warningsOf(source), source).toEqual([
      {
        message: expect.stringMatching(/^it tests a (?:path|host) as text/),
        fix: `Replace only this test with \`${fix}\`.`,
        offset,
      },
    ]);
  }
  expect(warningsOf('args.a.startsWith("/a") || args.b.startsWith("/b")')).toHaveLength(2);
});

verifies('G3', 'finds nothing in tests of other texts', () => {
  const plain = [
    'args.name.startsWith("team-")',
    'args.path.endsWith(".md") && args.path.contains("/.git/") && args.path.startsWith("/")',
    'args.url.startsWith("https://") && args.url.endsWith(".tar.gz")',
    'args.route.matches("^/users/[0-9]+$")',
    'caller.id.startsWith("https://login.example.com#") && tool.ownName.startsWith("/repos/")',
    'args.p.startsWith(args.q) && args.mail.endsWith("@example.com") && args.text.contains("example.com")',
    'path.inside(args.p, "/team") && host.is(args.url, "*.example.com")',
  ];
  for (const source of plain) expect(warningsOf(source), source).toEqual([]);
});
