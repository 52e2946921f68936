import { expect, it } from 'vitest';
import { type Elicitation, hostAsker } from './host-input.ts';

it('a program is given the address as it will be read, whatever way it was written', async () => {
  const seen: Elicitation[] = [];
  const elicit = (asked: Elicitation) => {
    seen.push(asked);
    return { action: 'decline' as const };
  };
  const params = { mode: 'url', message: 'Go', elicitationId: '1', url: 'https:\\\\EVIL.example\n/\u202e' };
  const ask = hostAsker({ onElicitation: elicit }, 'demo.visit');
  await ask({ q1: { method: 'elicitation/create', params } }, 'demo', new AbortController().signal);
  expect(seen[0]).toMatchObject({ url: 'https://evil.example/%E2%80%AE', host: 'evil.example' });
});
