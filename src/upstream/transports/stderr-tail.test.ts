import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stderrTail } from './stderr-tail.ts';

it('keeps the end of what was said, however it was cut', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.string({ maxLength: 45 })), (bytes, parts) => {
      const words = stderrTail(bytes);
      const chunks = parts.map((part) => Buffer.from(part.replaceAll(/[^\x20-\x7e]/g, '.')));
      const all = Buffer.concat(chunks).toString();
      for (const chunk of chunks) words.add(Buffer.from(chunk));
      expect(words.text()).toBe(all.slice(-bytes));
    }),
  );
});

it('begins with a whole line when the beginning was lost', () => {
  const tail = stderrTail(20);
  tail.add(Buffer.from('a first line\nsecond\nthird line\n'));
  expect(tail.text()).toBe('second\nthird line\n');
  const one = stderrTail(5);
  one.add(Buffer.from('a long line\n'));
  expect(one.text()).toBe('line\n');
});
