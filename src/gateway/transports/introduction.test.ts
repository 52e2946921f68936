import { PassThrough } from 'node:stream';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { readIntroduction } from './introduction.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: { elicitation: {} } },
};
const PING = { jsonrpc: '2.0', id: 'p', method: 'ping' };

function streams() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const read = () => readIntroduction({ input, output }, new AbortController().signal);
  return { input, output, read };
}

verifies('T11', 'reads the capabilities from initialize after blank lines and a ping that it answers', async () => {
  const { input, output, read } = streams();
  const introduction = read();
  input.write(`\n \r\n${JSON.stringify(PING)}\n`);
  // The client may wait for this response before it sends initialize.
  const [pong] = await output.take(1).toArray();
  expect(JSON.parse(String(pong))).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  const rest = `${JSON.stringify(INITIALIZE)}\n${JSON.stringify({ ...PING, id: 2 })}\n`;
  input.write(rest);
  expect(await introduction).toMatchObject({ capabilities: { form: true }, era: 'legacy' });
  expect(String(input.read())).toBe(rest);
});

verifies('T11', 'leaves a ping with an id of the wrong type in the stream', async () => {
  const { input, read } = streams();
  const invalid = `${JSON.stringify({ ...PING, id: {} })}\n`;
  input.write(invalid);
  expect(await read()).toMatchObject({ era: 'modern' });
  expect(String(input.read())).toBe(invalid);
});
