// A stdio server that writes `megabytes` of output for the methods `line`, `stderr` and `notifications`.
// It answers other methods at once.
import { createInterface } from 'node:readline';

const CHUNK = 'y'.repeat(1_000_000);
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function writeAll(stream, chunks) {
  for (const chunk of chunks) if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
}
function* repeat(chunk, times) {
  for (let at = 0; at < times; at++) yield chunk;
}

const FLOODS = {
  async line(id, { megabytes }) {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"x":"`);
    await writeAll(process.stdout, repeat(CHUNK, megabytes));
    process.stdout.write('"}}\n');
  },
  async stderr(id, { megabytes }) {
    await writeAll(process.stderr, repeat(CHUNK, megabytes));
    process.stderr.write('the end', () => send({ id, result: {} }));
  },
  async notifications(id, { megabytes }) {
    const one = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'z'.repeat(900) } })}\n`;
    await writeAll(process.stdout, repeat(one.repeat(100), megabytes * 10));
    send({ id, result: {} });
  },
};

// Requests run one after the other, so that no output interrupts an unfinished line of text.
let last = Promise.resolve();
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    last = last.then(() => (FLOODS[method] ? FLOODS[method](id, params) : send({ id, result: {} })));
  })
  .on('close', () => process.exit(0));
