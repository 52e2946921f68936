import { describe, expect, it } from 'vitest';
import { SNIPPETS } from '../../../test/config/hosts/readme-snippets.ts';
import { verifies } from '../../../test/requirements.ts';
import { HeddleError } from '../../core/errors.ts';
import { checkEntry } from '../edit/check-entry.ts';
import { readPasted } from './pasted.ts';

describe('pasted JSON', () => {
  it.each(SNIPPETS)('%s', (_, text, expected, notes) => {
    const read = readPasted('the JSON', text);
    expect(Object.fromEntries(read.servers.map(({ name, entry }) => [name, entry]))).toEqual(expected);
    for (const { entry } of read.servers) expect(['type', 'command', 'url']).toContain(Object.keys(entry)[0]);
    expect(read.notes).toHaveLength(notes.length);
    for (const [index, note] of notes.entries()) expect(read.notes[index]).toContain(note);
    for (const { name = '', entry } of read.servers) {
      expect(checkEntry(name, entry, { foreign: false, env: {} }).problems).toEqual([]);
    }
  });

  verifies('C12', 'means the same with CRLF, as a fragment, in a code block and after a byte-order mark', () => {
    for (const [, text, expected] of SNIPPETS.filter(([, text]) => text.startsWith('{'))) {
      const fragment = text.trim().slice(1, -1);
      for (const form of [text.replaceAll('\n', '\r\n'), `~~~\n${text}\n~~~`, `\uFEFF${text}`, fragment]) {
        const { servers } = readPasted('the JSON', form);
        expect(Object.fromEntries(servers.map(({ name, entry }) => [name, entry]))).toEqual(expected);
      }
    }
  });

  verifies('C12', 'carries over no approval of another host, and lists it', () => {
    const text = (approval: string) => `{ "a": { "command": "x", ${approval} } }`;
    for (const [approval, expected] of [
      ['"autoApprove": ["read", "write"]', ['read', 'write']],
      ['"alwaysAllow": true', ['*']],
      ['"autoApprove": []', []],
    ] as const) {
      expect(readPasted('', text(approval)).servers).toEqual([
        { name: 'a', entry: { command: 'x' }, approvals: expected },
      ]);
    }
  });
});

describe('an entry with fields of two kinds', () => {
  const entryOf = (fields: string) => readPasted('', `{ "a": { "command": "x", ${fields} } }`).servers[0]?.entry;

  it('keeps the denied tools of both', () => {
    expect(entryOf('"disabledTools": ["one"], "permissions": { "deniedTools": ["two"] }')).toEqual({
      command: 'x',
      permissions: { deniedTools: ['two', 'one'] },
    });
  });

  it('is never enabled by a switch of a wrong type', () => {
    expect(entryOf('"isActive": "false"')).toEqual({ command: 'x', enabled: 'false' });
    expect(entryOf('"disabled": true, "isActive": "no"')).toEqual({ command: 'x', enabled: 'no' });
  });
});

it('neither shows nor writes the default of a password input', () => {
  const inputs = '[{ "id": "pat", "password": true, "default": "tree" }]';
  const read = readPasted(
    '',
    `{ "inputs": ${inputs}, "servers": { "a": { "command": "x", "env": { "P": "\${input:pat}" } } } }`,
  );
  expect(JSON.stringify(read)).not.toContain('tree');
  expect(read.servers[0]?.entry.env).toEqual({ P: '${PAT}' });
});

describe('refuses', () => {
  it.each([
    ['a list', '[1]', 'Line 1, column 1'],
    ['nothing', '{}', 'it is empty'],
    ['a setting', '{\n  "theme": "dark"\n}', '`theme` (line 2, column 3) fits no shape'],
    ['another object', '{ "demo": { "run": "x" } }', '`demo.run` (line 1, column 13) fits no shape'],
    ['servers that are a text', '{ "mcpServers": "x" }', '`mcpServers` (line 1, column 3) fits no shape'],
    ['no servers', '{ "mcpServers": {} }', '`mcpServers` (line 1, column 3) fits no shape'],
    ['a server that is a number', '{ "servers": { "a": 5 } }', '`servers.a` (line 1, column 16) fits no shape'],
    ['a fragment of another thing', '"theme": "dark"', '`theme` (line 1, column 1) fits no shape'],
    ['broken JSON', '{\n  "mcpServers": {\n    "a" { }\n  }\n}', 'Line 3, column 9: the JSON is not valid JSON'],
    ['a broken fragment', '"a": { "command" "x" }', 'Line 1, column 18: the JSON is not valid JSON'],
    ['broken JSON in a code block', 'Text\n```json\n{ "a" }\n```\n', 'Line 3, column 7: the JSON is not valid JSON'],
    ['prose', 'hello', 'Line 1, column 1: the JSON is not valid JSON'],
    ['a dangerous name', '{ "a": { "command": "x", "env": { "__proto__": "y" } } }', '`__proto__` is not allowed'],
  ])('%s, with the place of the first key or character that does not fit', (_, text, message) => {
    expect(() => readPasted('the JSON', text)).toThrow(message);
  });

  it('names the known shapes, and the key that was meant', () => {
    const fixOf = (text: string) => {
      try {
        readPasted('the JSON', text);
      } catch (error) {
        return HeddleError.from(error).fix;
      }
      return '';
    };
    for (const shape of ['mcpServers', 'servers', 'context_servers', 'mcp', 'command', 'url', 'server.json']) {
      expect(fixOf('{ "theme": "dark" }')).toContain(shape);
    }
    expect(fixOf('{ "comand": "x" }')).toContain('Did you mean `command`?');
    expect(fixOf('{ "mcpServer": "x" }')).toContain('Did you mean `mcpServers`?');
  });

  it('throws only HeddleErrors, for any beginning of any snippet', () => {
    for (const [, text] of SNIPPETS) {
      for (let end = 0; end < text.length; end += 7) {
        try {
          readPasted('the JSON', text.slice(0, end));
        } catch (error) {
          expect(HeddleError.is(error)).toBe(true);
        }
      }
    }
  });
});
