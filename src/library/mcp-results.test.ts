import { expect, it } from 'vitest';
import { text } from './mcp-results.ts';

it('joins the text blocks and embedded text of a result by newlines', () => {
  const embedded = { type: 'resource', resource: { uri: 'file:///a', text: 'two' } } as const;
  const image = { type: 'image', data: '', mimeType: 'image/png' } as const;
  expect(text({ content: [{ type: 'text', text: 'one' }, image, embedded] })).toBe('one\ntwo');
});

it('returns an empty string for a result without text', () => {
  expect(text({ content: [] })).toBe('');
  expect(text({} as never)).toBe('');
});
