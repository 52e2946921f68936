// Starts a gateway of another project as a candidate, and prints its address.
// BENCH_PEERS=FOLDER node bench/peer.ts NAME CONFIG, where NAME was installed with `npm install` in FOLDER/NAME
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { readUpstream } from './plain-server.ts';

const ARGUMENTS: Readonly<Record<string, (upstream: readonly string[], port: string) => readonly string[]>> = {
  'mcp-proxy': (upstream, port) => ['--host', '127.0.0.1', '--port', port, '--server', 'stream', '--', ...upstream],
  // Stateful: otherwise it starts a process for each request.
  supergateway: (upstream, port) => [
    ...['--stdio', upstream.join(' '), '--outputTransport', 'streamableHttp'],
    ...['--stateful', '--logLevel', 'none', '--port', port],
  ],
};

const [name = '', config = ''] = process.argv.slice(2);
const toArguments = ARGUMENTS[name];
if (!toArguments) throw new Error(`The known names are ${Object.keys(ARGUMENTS).join(' and ')}.`);
const { command = '', args = [] } = readUpstream(config);
const port = await freePort();
const program = join(process.env.BENCH_PEERS ?? '', name, 'node_modules', '.bin', name);
const child = spawn(process.execPath, [program, ...toArguments([command, ...args], String(port))], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, HOME: dirname(config), NODE_ENV: 'production' },
});
process.on('SIGINT', () => child.kill());
child.once('close', () => process.exit());
while (!(await isListening(port))) await wait(20);
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp`, pid: child.pid })}\n`);

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

function isListening(at: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(at, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
