// A stdio server that misbehaves on request: `node odd-stdio-server.mjs [fault …]`.
// With START_LOG in its environment it appends its pid to that file at each start.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const faults = new Set(process.argv.slice(2));
const IGNORE_SIGNALS = "trap '' INT TERM HUP; while :; do sleep 1; done";
const MODERN = '2026-07-28';

if (process.env.START_LOG) appendFileSync(process.env.START_LOG, `${process.pid}\n`);

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }], resultType: 'complete' });

/** Child processes that ignore signals: one in this process group, one in its own session. */
const children = faults.has('stubborn')
  ? [false, true].map((detached) => spawn('sh', ['-c', IGNORE_SIGNALS], { detached, stdio: 'ignore' }).pid)
  : [];
if (faults.has('stubborn')) {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
  setInterval(() => {}, 1000);
}
if (faults.has('escaping')) {
  const daemon = ['env', '-i', 'sh', '-c', IGNORE_SIGNALS, `daemon of ${process.env.TEST_PLACE}`];
  spawn('setsid', daemon, { stdio: 'ignore' });
}
if (faults.has('noisy')) process.stdout.write('Starting up…\nListening on stdio\n');
if (faults.has('dies')) {
  process.stderr.write('cannot find the license file\n');
  process.exit(3);
}

const tools = [{ name: 'echo' }, { name: 'environment' }, { name: 'family' }, { name: 'exit' }, { name: 'never' }];
const define = (tool) => ({ ...tool, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });

const CALLS = {
  echo: (input) => text(input),
  environment: () => text(process.env),
  family: () => text([process.pid, ...children]),
  exit: () => process.exit(4),
  never: () => undefined,
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion ?? '2025-06-18',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'odd', version: '1' },
  }),
  'tools/list': () => (faults.has('listless') ? undefined : { tools: tools.map(define), resultType: 'complete' }),
  'tools/call': ({ name, arguments: input }) => CALLS[name]?.(input),
};
if (faults.has('modern')) {
  METHODS['server/discover'] = () => ({
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities: { tools: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'odd', version: '1' } },
  });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || faults.has('silent') || (faults.has('undiscoverable') && method === 'server/discover'))
    return;
  if (!METHODS[method]) return send({ id, error: { code: -32601, message: `${method} is not supported` } });
  const result = METHODS[method](params);
  if (result) send({ id, result });
});
