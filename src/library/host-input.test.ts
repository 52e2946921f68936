import { expect, it } from 'vitest';
import { type Elicitation, hostInput } from './host-input.ts';

it('passes the normalised URL of an elicitation to the program', async () => {
  const seen: Elicitation[] = [];
  const onElicitation = (elicitation: Elicitation) => {
    seen.push(elicitation);
    return { action: 'decline' as const };
  };
  const params = { mode: 'url', message: 'Go', elicitationId: '1', url: 'https:\\\\EVIL.example\n/\u202e' };
  const ask = hostInput({ onElicitation }, 'demo.visit');
  await ask({ q1: { method: 'elicitation/create', params } }, 'demo', new AbortController().signal);
  expect(seen[0]).toMatchObject({ url: 'https://evil.example/%E2%80%AE', host: 'evil.example' });
});
