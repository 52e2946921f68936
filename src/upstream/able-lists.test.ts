import { expect, it, onTestFinished } from 'vitest';
import { type AbleServer, ableServer } from '../../test/servers/able-server.ts';
import { until } from '../../test/until.ts';
import { NO_ABILITIES } from '../core/abilities.ts';
import type { JsonObject } from '../core/call.ts';
import { ableLists } from './able-lists.ts';
import { connectInMemory } from './connect-in-memory.ts';
import type { Connection } from './connection.ts';
import { fakeTime, type TinyServer, tinyServer } from './fixtures.ts';

const signal = new AbortController().signal;
const FORM = { ...NO_ABILITIES, form: true };
const lists = { tools: [{ name: 'old' }], resources: [], templates: [], prompts: [] };
const memory = { server: 'demo', abilities: 1, signature: 'sig', era: 'legacy', at: 0, lists } as const;

function listsOf({ connect }: Pick<AbleServer, 'connect'>, remembered: readonly (typeof memory)[] = []) {
  const told: [number, unknown][] = [];
  const time = fakeTime();
  const onTools = (abilities: number, tools: readonly JsonObject[]) =>
    void told.push([abilities, tools.map(({ name }) => name)]);
  const able = ableLists({ ...time, signal, remembered, onTools });
  async function open(can = FORM): Promise<Connection> {
    const options = { server: 'demo', signal, known: 'legacy', can } as const;
    const connection = await able.open(can, (hear) => connectInMemory(connect)({ ...options, hear }));
    onTestFinished(() => connection.close());
    return connection;
  }
  return { able, told, time, open };
}

it('hears on a line what is listed to its user, and every change of it', async () => {
  const server = ableServer({ all: '', ask: 'elicitation', root: 'roots' });
  const { able, told, time, open } = listsOf(server);
  expect(able.asked(FORM)).toBeUndefined();
  await open();
  await able.asked(FORM);
  expect(told).toEqual([[1, ['all', 'ask']]]);
  server.change({ all: '' });
  await until('the change is told', () => {
    time.pass(300);
    return told.length === 2;
  });
  expect(told[1]).toEqual([1, ['all']]);
});

it('says nothing of what it knew already, or of a line whose user cannot be asked', async () => {
  const { able, told, open } = listsOf(ableServer({ old: '' }), [memory]);
  expect(able.asked(FORM)).toBeDefined();
  await open(NO_ABILITIES);
  await open();
  await able.asked(FORM);
  expect(told).toEqual([[1, ['old']]]); // Its definition is another.
  await open();
  await able.asked(FORM);
  expect(told).toHaveLength(1);
});

it('asks anew what may have changed, except where a line would tell', async () => {
  const { able, open } = listsOf(ableServer({ all: '' }), [memory]);
  able.doubt();
  expect(able.asked(FORM)).toBeUndefined();
  const line = await open();
  await able.asked(FORM);
  able.doubt();
  expect(able.asked(FORM)).toBeDefined();
  await line.close();
  able.doubt();
  expect(able.asked(FORM)).toBeUndefined();
});

it('a list that fails holds nobody up and is asked for again, and after the line is gone on the next', async () => {
  let works = false;
  const tiny: TinyServer = tinyServer({
    'tools/list': () => {
      if (works) return { tools: [{ name: 'late' }] };
      throw new Error('Not now.');
    },
  });
  const { able, told, time, open } = listsOf({ connect: tiny.serve });
  const line = await open();
  await able.asked(FORM);
  expect(told).toEqual([]);
  await line.close();
  expect(able.asked(FORM)).toBeUndefined();
  await open();
  await able.asked(FORM);
  works = true;
  await until('it is had', () => {
    time.pass(300);
    return told.length > 0;
  });
  expect(told).toEqual([[1, ['late']]]);
});
