// Connects to a flooding server and prints the outcome and the growth of memory as JSON.
// Usage: `node measure-flood.mjs KIND MEGABYTES`
import { fileURLToPath } from 'node:url';
import { openWatchdog } from '../../src/process/watchdog.ts';
import { StdioClientTransport } from '../../src/upstream/transports/stdio-transport.ts';
import { Peer } from '../../src/wire/peer.ts';

const [kind, megabytes] = process.argv.slice(2);
const server = fileURLToPath(new URL('../servers/flooding-server.mjs', import.meta.url));
const watchdog = openWatchdog();
const troubles = [];
const transport = new StdioClientTransport({
  server: 'flood',
  watchdog,
  command: process.execPath,
  args: [server],
  env: {},
  onTrouble: (reason) => troubles.push(reason),
});
let notifications = 0;
const peer = new Peer(transport, { server: 'flood', onNotification: () => void notifications++ });
await peer.start();
const request = (method, params = {}) => peer.request(method, params, { deadlineMs: 240_000 });

await request('warm-up');
await request(kind, { megabytes: 1 });
const before = process.memoryUsage.rss();
let peak = before;
const sampler = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 2);
const flood = request(kind, { megabytes: Number(megabytes) }).then(
  () => 'answered',
  (error) => error.message,
);
// Blocks the event loop for 300 ms. Unread messages must wait in the server, not in the memory of this process.
if (kind === 'notifications') for (const end = performance.now() + 300; performance.now() < end; );
const outcome = await flood;
await request('still there?');
clearInterval(sampler);
const grownMegabytes = (peak - before) / 1024 ** 2;
process.stdout.write(
  JSON.stringify({ grownMegabytes, outcome, notifications, troubles, stderr: transport.stderr().length }),
);
await peer.close();
watchdog.close();
