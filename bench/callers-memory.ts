import { CALLERS, CONCURRENCY, callEcho, callerAt, openWith } from './credentials-suite.ts';

/** Calls as 1,000 callers with an account each, prints the memory per connection as JSON and waits for the end of input. */
const [url = '', folder = ''] = process.argv.slice(2);
const heddle = await openWith(folder, { mine: { type: 'http', url, oauth: { credentials: 'user' } } });
await callEcho(heddle, 'mine', callerAt(0));
const before = memory();
let next = 1;
const work = async () => {
  for (let at = next++; at < CALLERS; at = next++) await callEcho(heddle, 'mine', callerAt(at));
};
await Promise.all(Array.from({ length: CONCURRENCY }, work));
const after = memory();
const perConnection = (kind: 'heapUsed' | 'rss') => (after[kind] - before[kind]) / 1024 / (CALLERS - 1);
console.log(JSON.stringify({ heapKilobytes: perConnection('heapUsed'), rssKilobytes: perConnection('rss') }));
await process.stdin.resume().toArray();
await heddle.close();

function memory(): NodeJS.MemoryUsage {
  if (!globalThis.gc) throw new Error('Run it with --expose-gc.');
  globalThis.gc();
  globalThis.gc(); // Finalizers of the first collection free more.
  return process.memoryUsage();
}
