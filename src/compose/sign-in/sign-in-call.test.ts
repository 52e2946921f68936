import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall, ada, aTarget } from '../../core/fixtures.ts';
import { signInCall } from './sign-in-call.ts';

const call = (id = ada.id) =>
  aCall({ caller: { ...ada, id }, target: aTarget({ publicName: 'mcp__box__sign_in', servers: ['box'] }) });
const textOf = (result: unknown) => JSON.stringify(result);

verifies('A6', 'waits once per caller for the tokens, however often the tool sign_in is called', async () => {
  const waiting: string[] = [];
  const ends: (() => void)[] = [];
  const signIn = signInCall({
    servers: {
      signedIn(server, { caller }) {
        waiting.push(`${server} ${caller.id}`);
        return new Promise((resolve) => void ends.push(resolve));
      },
    },
    signInUrl: async (server, { id }) => `https://gateway.example/connect/${server}-${id}`,
  });
  for (const id of ['ada', 'ada', 'bob']) {
    expect(textOf(await signIn(call(id)))).toContain(`https://gateway.example/connect/box-${id}`);
  }
  expect(waiting).toEqual(['box ada', 'box bob']);
  for (const end of ends) end();
  await new Promise(setImmediate);
  await signIn(call());
  expect(waiting).toHaveLength(3);
});

verifies('A6', 'names `heddle auth login` where there is no page for the sign-in', async () => {
  const signIn = signInCall({ servers: { signedIn: async () => {} } });
  expect(textOf(await signIn(call()))).toContain('heddle auth login box');
});
