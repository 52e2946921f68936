import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runningWith } from '../alive.ts';
import { MEASURES, within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';

const TINY = join(import.meta.dirname, '../servers/tiny-server.sh');
const LIST_WAIT_MS = 2000;

/** Returns the entries of forty working servers and ten that fail, two in each of five ways. */
function fifty(tag: string): Record<string, { command: string; args: string[] }> {
  const dead = [
    { command: 'no-such-program', args: [] },
    { command: '/bin/sh', args: ['-c', 'exit 3', tag] },
    { command: '/bin/sh', args: ['-c', 'while read -r line; do echo garbage; done', tag] },
    { command: '/bin/sh', args: ['-c', 'trap "" INT TERM; exec sleep 60', tag] },
    { command: '/bin/sh', args: ['-c', 'exec 1>&-; cat', tag] },
  ];
  const servers: Record<string, { command: string; args: string[] }> = {};
  // The dead servers come first, so that waiting for them would show.
  for (let at = 0; at < 10; at++) servers[`dead${at}`] = dead[at % dead.length] as (typeof dead)[number];
  for (let at = 0; at < 40; at++) servers[`live${at}`] = { command: '/bin/sh', args: [TINY, tag] };
  return servers;
}

verifies('F10', 'with ten of fifty servers dead the list comes in two seconds, and the rest work', async () => {
  const tag = `fifty-${randomUUID()}`;
  const heddle = await temporaryHeddleClient({ servers: fifty(tag), listWaitMs: LIST_WAIT_MS });
  onTestFinished(async () => {
    await heddle.close();
    await until('no process is left', () => runningWith(tag).length === 0);
  });
  // `heddle.tools()` waits two seconds. Timers may fire up to one second late while fifty processes start.
  const first = await within(LIST_WAIT_MS + 1000, () => heddle.tools());
  if (MEASURES) expect(first.length).toBeGreaterThan(0);
  const live = async () => (await heddle.tools()).filter(({ name }) => name.startsWith('mcp__live')).length;
  await until('all forty are listed', async () => (await live()) === 40);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => heddle.call(`live${at}.one`).then(({ isError }) => isError)),
  );
  expect(answers.filter((isError) => isError)).toEqual([]);
  const states = (await heddle.servers.list()).filter(({ name }) => name.startsWith('dead'));
  expect(states).toHaveLength(10);
  expect(states.filter(({ state }) => state === 'connected')).toEqual([]);
});
