// A stdio server that misbehaves on request: `node odd-stdio-server.mjs [way …]`.
// With START_LOG in its environment it adds its pid to that file, so that starts can be counted.
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const ways = new Set(process.argv.slice(2));
const DEAF = "trap '' INT TERM HUP; while :; do sleep 1; done";
const MODERN = '2026-07-28';

if (process.env.START_LOG) appendFileSync(process.env.START_LOG, `${process.pid}\n`);

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }], resultType: 'complete' });

/** Children that ignore signals: one in our group, one in a session of its own. */
const kids = ways.has('stubborn')
  ? [false, true].map((detached) => spawn('sh', ['-c', DEAF], { detached, stdio: 'ignore' }).pid)
  : [];
if (ways.has('stubborn')) {
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {});
  setInterval(() => {}, 1000);
}
if (ways.has('escaping')) {
  const daemon = ['env', '-i', 'sh', '-c', DEAF, `daemon of ${process.env.TEST_PLACE}`];
  spawn('setsid', daemon, { stdio: 'ignore' });
}
if (ways.has('noisy')) process.stdout.write('Starting up…\nListening on stdio\n');
if (ways.has('dies')) {
  process.stderr.write('cannot find the license file\n');
  process.exit(3);
}

const tools = [{ name: 'echo' }, { name: 'environment' }, { name: 'family' }, { name: 'exit' }, { name: 'never' }];
const define = (tool) => ({ ...tool, inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });

const CALLS = {
  echo: (input) => text(input),
  environment: () => text(process.env),
  family: () => text([process.pid, ...kids]),
  exit: () => process.exit(4),
  never: () => undefined,
};

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion: protocolVersion ?? '2025-06-18',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'odd', version: '1' },
  }),
  'tools/list': () => (ways.has('listless') ? undefined : { tools: tools.map(define), resultType: 'complete' }),
  'tools/call': ({ name, arguments: input }) => CALLS[name]?.(input),
};
if (ways.has('modern')) {
  METHODS['server/discover'] = () => ({
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities: { tools: {} },
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'odd', version: '1' } },
  });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined || ways.has('silent') || (ways.has('undiscoverable') && method === 'server/discover')) return;
  if (!METHODS[method]) return say({ id, error: { code: -32601, message: `${method} is not here` } });
  const result = METHODS[method](params);
  if (result) say({ id, result });
});
