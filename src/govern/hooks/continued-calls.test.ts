import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { Handler, InputResponses, ResolvedCall, Result } from '../../core/call.ts';
import { aCall, answers, text } from '../../core/fixtures.ts';
import { keeping, withHooks } from './fixtures.ts';

const FORM = { method: 'elicitation/create', params: { message: 'Who?' } } as const;
const inputRequired = (keys: readonly string[], kind: 'upstream' | 'suspended' = 'upstream'): Result => ({
  kind: 'input-required',
  inputRequests: Object.fromEntries(keys.map((key) => [key, FORM])),
  continuation: kind === 'upstream' ? { kind, server: 'demo', state: 's' } : { kind, server: 'demo', ticket: 't' },
});

verifies(
  'G13',
  'a continuation carries the digest of changed arguments, and other arguments end the call',
  async () => {
    let n = 2;
    const { stage } = withHooks({}, { beforeCall: () => ({ arguments: { n } }) });
    const begun = await stage(aCall({ input: { n: 1 } }), keeping(inputRequired(['q1'])).next);
    const continuation = begun.kind === 'input-required' ? begun.continuation : undefined;
    expect(continuation).toMatchObject({ hooked: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const { seen, next } = keeping();
    const again = aCall({ input: { n: 1 }, ...(continuation && { continuation }) });
    await stage(again, next);
    expect(seen[0]?.input).toEqual({ n: 2 });
    n = 3;
    await expect(stage(again, next)).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('other arguments than those that its server got first'),
    });
    const withoutHooks = withHooks({}).stage;
    await expect(withoutHooks(again, next)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(seen).toHaveLength(1);
  },
);

verifies('G13', 'a continuation of a task runs no hook before the call: it sends no arguments', async () => {
  const { stage } = withHooks({}, { beforeCall: () => ({ effect: 'deny' }) });
  const continuation = { kind: 'task', server: 'demo', taskId: '1', pollMs: 100 } as const;
  await expect(stage(aCall({ continuation }), answers('done'))).resolves.toEqual(text('done'));
});

verifies('T10', 'a hook refuses one of two input requests: a suspended call goes on with the other', async () => {
  const sent: (InputResponses | undefined)[] = [];
  const { stage } = withHooks(
    {},
    { beforeInputRequest: () => (sent.length === 1 ? { effect: 'deny' } : { effect: 'allow' }) },
  );
  const next: Handler<ResolvedCall> = async ({ inputResponses }) => {
    sent.push(inputResponses);
    return inputRequired(sent.length === 1 ? ['q1'] : ['q2'], 'suspended');
  };
  const result = await stage(aCall(), next);
  expect(sent).toEqual([undefined, { q1: { action: 'decline' } }]);
  expect(result).toMatchObject({ kind: 'input-required', inputRequests: { q2: FORM } });
});

verifies(
  'T10',
  'a refusal refuses all input requests of a stateless server, and the call ends after eight',
  async () => {
    const sent: (InputResponses | undefined)[] = [];
    const { stage } = withHooks({}, { beforeInputRequest: () => ({ effect: 'deny' }) });
    const next: Handler<ResolvedCall> = async ({ inputResponses }) => {
      sent.push(inputResponses);
      return inputRequired(['q1', 'q2']);
    };
    await expect(stage(aCall(), next)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(sent).toHaveLength(8);
    expect(sent[1]).toEqual({ q1: { action: 'decline' }, q2: { action: 'decline' } });
  },
);

verifies('T10', 'the form of an approval passes the input hooks by', async () => {
  const { stage } = withHooks(
    {},
    { beforeInputRequest: () => ({ effect: 'deny' }), afterInputResponse: () => ({ effect: 'deny' }) },
  );
  const approval = { kind: 'approval', id: 'ap_1' } as const;
  const asked: Result = { kind: 'input-required', inputRequests: { q: FORM }, continuation: approval };
  const { seen, next } = keeping(asked);
  const inputResponses = { q: { action: 'accept', content: { approve: true } } };
  await expect(stage(aCall({ continuation: approval, inputResponses }), next)).resolves.toEqual(asked);
  expect(seen[0]?.inputResponses).toEqual(inputResponses);
});

verifies('T10', 'a withheld sampling response fails the request', async () => {
  const { stage } = withHooks({}, { afterInputResponse: () => ({ effect: 'deny' }) });
  const { seen, next } = keeping();
  const continuation = { kind: 'suspended', server: 'demo', ticket: 't' } as const;
  const inputResponses = { q: { role: 'assistant', model: 'm', content: { type: 'text', text: 'x' } } };
  await stage(aCall({ continuation, inputResponses }), next);
  expect(seen[0]?.inputResponses).toEqual({ q: { failed: { code: -1, message: 'The request was refused.' } } });
});
