// Pours out more than anybody wants: asked for `line`, `stderr` or `notifications`, with `megabytes`; answers all else at once.
import { createInterface } from 'node:readline';

const PART = 'y'.repeat(1_000_000);
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

async function pour(stream, parts) {
  for (const part of parts) if (!stream.write(part)) await new Promise((resolve) => stream.once('drain', resolve));
}
function* repeat(part, times) {
  for (let at = 0; at < times; at++) yield part;
}

const FLOODS = {
  async line(id, { megabytes }) {
    process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"x":"`);
    await pour(process.stdout, repeat(PART, megabytes));
    process.stdout.write('"}}\n');
  },
  async stderr(id, { megabytes }) {
    await pour(process.stderr, repeat(PART, megabytes));
    process.stderr.write('the end', () => say({ id, result: {} }));
  },
  async notifications(id, { megabytes }) {
    const one = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { data: 'z'.repeat(900) } })}\n`;
    await pour(process.stdout, repeat(one.repeat(100), megabytes * 10));
    say({ id, result: {} });
  },
};

// One after the other: nothing may come between the parts of a line.
let last = Promise.resolve();
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line);
    last = last.then(() => (FLOODS[method] ? FLOODS[method](id, params) : say({ id, result: {} })));
  })
  .on('close', () => process.exit(0));
