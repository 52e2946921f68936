import { expect, it } from 'vitest';
import { serverEntry } from '../schema/server-schema.ts';
import { signatureOf } from './signature.ts';

const sign = (entry: object): string => signatureOf(serverEntry.parse(entry));

it('is equal for the same program or address, regardless of order and other fields', () => {
  expect(sign({ args: ['a'], command: 'x', env: { A: '1' } })).toBe(sign({ command: 'x', args: ['a'], priority: 2 }));
  expect(sign({ url: 'http://h/' })).toBe(sign({ type: 'sse', headers: { a: 'b' }, url: 'http://h/' }));
});

it('differs for different programs, arguments and addresses', () => {
  const entries = [
    { command: 'x' },
    { command: 'x', args: ['a'] },
    { command: 'x', args: ['a', 'b'] },
    { command: 'x', args: ['a b'] },
    { command: 'url', args: ['http://h/'] },
    { url: 'http://h/' },
    { type: 'sdk', name: 'x' },
  ];
  expect(new Set(entries.map(sign)).size).toBe(entries.length);
});
