import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { commandPrompts } from './command-prompts.ts';
import type { CommandMessage } from './command-wire.ts';

function open() {
  const lines: CommandMessage[] = [];
  const closed = new AbortController();
  return { lines, closed, to: { write: (line: CommandMessage) => void lines.push(line), signal: closed.signal } };
}
const PENDING = { id: 'ap_1', approvers: ['role:owner'], expiresAt: 1, reason: 'routine' };

verifies('W4', 'a prompt waits for the response with its key, and for no other', async () => {
  const prompts = commandPrompts();
  const { lines, to } = open();
  const sent = prompts.send({ approval: PENDING }, to, new AbortController().signal);
  const key = String(lines[0]?.prompt?.key);
  expect(() => prompts.respond('another', {})).toThrow('does not wait');
  prompts.respond(key, { approved: 'self' });
  expect(await sent).toEqual({ approved: 'self' });
  expect(() => prompts.respond(key, { approved: 'self' })).toThrow('does not wait');
});

verifies('W4', 'a prompt ends when the command closes its connection or the run needs it no more', async () => {
  const prompts = commandPrompts();
  const { lines, closed, to } = open();
  const ended = new AbortController();
  const first = prompts.send({ approval: PENDING }, to, new AbortController().signal);
  const second = prompts.send({ approval: PENDING }, open().to, ended.signal);
  closed.abort();
  ended.abort();
  await expect(first).rejects.toThrow();
  await expect(second).rejects.toThrow();
  expect(() => prompts.respond(String(lines[0]?.prompt?.key), {})).toThrow('does not wait');
});
