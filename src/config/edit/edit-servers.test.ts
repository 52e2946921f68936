import fc from 'fast-check';
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { withField, withoutServer, withServer, writtenServers } from './edit-servers.ts';

const ENTRY = { command: 'npx', args: ['-y', 'server-time'], env: { ZONE: 'UTC' } };

const COMMENTED = `// Our servers.
{
    "mode": "strict", // always ask
    "mcpServers": {
        // Source code
        "github": { "url": "https://example.com/mcp" }, // the company one
        /* Files */
        "files": {
            "command": "files", // on the path
            "args": ["--root", "."]
        } // last
    },
    "gateway": { "port": 1 }
}
`;

verifies('C1', 'adds a server after the last one, and keeps comments, order, indentation and the last newline', () => {
  expect(withServer(COMMENTED, 'time', ENTRY)).toBe(`// Our servers.
{
    "mode": "strict", // always ask
    "mcpServers": {
        // Source code
        "github": { "url": "https://example.com/mcp" }, // the company one
        /* Files */
        "files": {
            "command": "files", // on the path
            "args": ["--root", "."]
        }, // last
        "time": {
            "command": "npx",
            "args": ["-y", "server-time"],
            "env": {
                "ZONE": "UTC"
            }
        }
    },
    "gateway": { "port": 1 }
}
`);
});

it('replaces a server without moving it', () => {
  const after = withServer(COMMENTED, 'github', { type: 'http', url: 'https://example.org/mcp' });
  expect(after).toBe(
    COMMENTED.replace(
      '{ "url": "https://example.com/mcp" }',
      '{\n            "type": "http",\n            "url": "https://example.org/mcp"\n        }',
    ),
  );
});

it('removes a server with the comment on its line, and no other comment', () => {
  expect(withoutServer(COMMENTED, 'github')).toBe(
    COMMENTED.replace('        "github": { "url": "https://example.com/mcp" }, // the company one\n', ''),
  );
});

it('removes the last server with the comma before it', () => {
  expect(withoutServer(COMMENTED, 'files')).toBe(`// Our servers.
{
    "mode": "strict", // always ask
    "mcpServers": {
        // Source code
        "github": { "url": "https://example.com/mcp" } // the company one
        /* Files */
    },
    "gateway": { "port": 1 }
}
`);
});

it('sets a field in the layout of its entry', () => {
  const disabled = { path: ['enabled'], value: false };
  expect(withField(COMMENTED, 'github', disabled)).toBe(
    COMMENTED.replace('example.com/mcp" }', 'example.com/mcp", "enabled": false }'),
  );
  expect(withField(COMMENTED, 'files', disabled)).toBe(
    COMMENTED.replace('["--root", "."]\n', '["--root", "."],\n            "enabled": false\n'),
  );
  const enabled = withField(withField(COMMENTED, 'files', disabled), 'files', { path: ['enabled'], value: true });
  expect(enabled).toBe(COMMENTED.replace('["--root", "."]\n', '["--root", "."],\n            "enabled": true\n'));
});

describe('a file may be', () => {
  const A = { command: 'a' };
  it.each([
    ['empty', '', '{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n'],
    ['one line', '{"mcpServers":{}}', '{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n'],
    [
      'without servers',
      '{\n\t"mode": "open"\n}',
      '{\n\t"mode": "open",\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n}',
    ],
    [
      'bare',
      '{\n  "b": { "url": "http://b/" }\n}\n',
      '{\n  "b": { "url": "http://b/" },\n  "a": {\n    "command": "a"\n  }\n}\n',
    ],
    [
      'of Windows',
      '{\r\n  "mcpServers": {\r\n  }\r\n}\r\n',
      '{\r\n  "mcpServers": {\r\n    "a": {\r\n      "command": "a"\r\n    }\r\n  }\r\n}\r\n',
    ],
    [
      'with a byte-order mark',
      '\uFEFF{\n  "mcpServers": {}\n}',
      '\uFEFF{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}',
    ],
    [
      'with a trailing comma',
      '{\n  "mcpServers": {\n    "b": {}, // b\n  },\n}\n',
      '{\n  "mcpServers": {\n    "b": {}, // b\n    "a": {\n      "command": "a"\n    },\n  },\n}\n',
    ],
    [
      'with a comment and no server',
      '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
      '{\n  "mcpServers": {\n    // none yet\n    "a": {\n      "command": "a"\n    }\n  }\n}\n',
    ],
  ])('%s', (_, before, after) => {
    expect(withServer(before, 'a', A)).toBe(after);
    expect(writtenServers(withoutServer(after, 'a')).has('a')).toBe(false);
    expect(() => parse(withoutServer(after, 'a'))).not.toThrow();
  });
});

it('does not change a text without the server to remove', () => {
  for (const text of ['{"mcpServers":{}}', COMMENTED, '{}']) expect(withoutServer(text, 'nope')).toBe(text);
});

it('edits the last entry of a repeated name, and removes all of them', () => {
  const twice = '{ "mcpServers": {\n  "a": { "command": "1" },\n  "a": { "command": "2" }\n} }\n';
  expect(withField(twice, 'a', { path: ['command'], value: '3' })).toBe(twice.replace('"2"', '"3"'));
  expect(writtenServers(withoutServer(twice, 'a')).size).toBe(0);
});

it.each(['[]', '"x"', '{ "mcpServers": [] }'])('refuses to edit %s', (text) => {
  expect(() => withServer(text, 'a', ENTRY)).toThrow(/is not a JSON object/);
});

it('changes only the named server in any file', () => {
  const name = fc.stringMatching(/^[a-z]{1,4}$/);
  const entry = fc.record({ command: fc.string(), args: fc.array(fc.string()), env: fc.dictionary(name, fc.string()) });
  const servers = fc.dictionary(name, entry, { noNullPrototype: true });
  const space = fc.constantFrom(undefined, 1, 2, '\t');
  fc.assert(
    fc.property(servers, name, entry, space, (before, added, value, indent) => {
      const text = JSON.stringify({ mcpServers: before, mode: 'open' }, null, indent);
      const after = withServer(text, added, value);
      expect(JSON.parse(after)).toEqual({ mcpServers: { ...before, [added]: value }, mode: 'open' });
      const { [added]: _, ...rest } = before;
      expect(JSON.parse(withoutServer(after, added))).toEqual({ mcpServers: rest, mode: 'open' });
    }),
  );
});
