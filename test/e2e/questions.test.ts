import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type CallResult, type Elicitation, type HeddleClient, type OpenOptions, text } from '../../src/index.ts';
import { carriersOf, killAll } from '../alive.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { askingModernServer } from '../servers/asking-modern.ts';
import { askingSessionServer } from '../servers/asking-server.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const STDIO = { command: process.execPath, args: [join(SERVERS, 'asking-server.ts')] };
const ANN = { name: 'Ann', class: 'first' };
const FILLED = { action: 'accept', content: { name: 'Ann', seats: 2, class: 'first' } };

const opened = (entry: JsonObject, options: OpenOptions = {}): Promise<HeddleClient> =>
  temporaryHeddleClient({ env: process.env, servers: { demo: entry }, ...options });

/** Answers only when the question is withdrawn. */
const tooLate = async ({ signal }: Elicitation) => {
  if (!signal.aborted) await once(signal, 'abort');
  return { action: 'accept' as const, content: ANN };
};

function said({ value }: CallResult): unknown {
  return JSON.parse(text(value));
}

const SERVERS_BY_KIND = {
  'SDK 1.32 over stdio': async () => STDIO,
  'SDK 1.32 over HTTP': async () => {
    const server = await askingSessionServer();
    onTestFinished(() => server.close());
    return { type: 'http', url: server.url };
  },
};

async function modern() {
  const server = await askingModernServer();
  onTestFinished(() => server.close());
  return { entry: { type: 'http', url: server.url }, given: server.given };
}

for (const [kind, entryOf] of Object.entries(SERVERS_BY_KIND)) {
  describe(kind, () => {
    verifies('T10', 'a form reaches the program, and its answer the server, checked and completed', async () => {
      const asked: Elicitation[] = [];
      const elicit = (one: Elicitation) => {
        asked.push(one);
        return { action: 'accept' as const, content: { ...ANN, stray: 1 } };
      };
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      expect(said(await heddle.call('demo.book'))).toEqual(FILLED);
      expect(asked).toMatchObject([{ server: 'demo', tool: 'demo.book', mode: 'form', message: 'Who is travelling?' }]);
      expect(asked[0]?.mode === 'form' && asked[0].fields.map(({ name, kind }) => [name, kind])).toEqual([
        ['name', 'text'],
        ['seats', 'integer'],
        ['class', 'choice'],
        ['meal', 'boolean'],
      ]);
    });

    verifies('T10', 'the user may decline or cancel, and the server hears which', async () => {
      const actions = ['decline', 'cancel'] as const;
      let at = 0;
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: actions[at++] as 'decline' }) });
      expect(said(await heddle.call('demo.twice'))).toEqual([{ action: 'decline' }, { action: 'cancel' }]);
    });

    verifies('T10', 'two questions at once are two questions of one round', async () => {
      const messages: string[] = [];
      const heddle = await opened(await entryOf(), {
        onElicitation: ({ message }) => {
          messages.push(message);
          return { action: 'accept', content: { ...ANN, name: message } };
        },
      });
      const both = said(await heddle.call('demo.both')) as { content: JsonObject }[];
      expect(both.map(({ content }) => content.name)).toEqual(['Left?', 'Right?']);
      expect(messages).toEqual(['Left?', 'Right?']);
    });

    verifies('T10', 'calls in parallel get their own answers', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: 'accept', content: ANN }) });
      const results = await Promise.all(Array.from({ length: 6 }, () => heddle.call('demo.book')));
      for (const result of results) expect(said(result)).toEqual(FILLED);
    });

    verifies('T10', 'a form that asks for a secret is put to nobody, and says why', async () => {
      let asked = 0;
      const elicit = () => ({ action: 'accept' as const, content: { apiKey: String(++asked) } });
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      const { isError, value } = await heddle.call('demo.steal');
      expect([isError, asked]).toEqual([true, 0]);
      expect(JSON.stringify(value)).toContain('its field apiKey asks for a secret');
    });

    verifies('T10', 'a URL is shown with its host, and nothing but the agreement goes back', async () => {
      const asked: Elicitation[] = [];
      const elicit = (one: Elicitation) => {
        asked.push(one);
        return { action: 'accept' as const, content: { stray: true } };
      };
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      expect(said(await heddle.call('demo.visit'))).toEqual({ action: 'accept' });
      expect(asked).toMatchObject([{ mode: 'url', host: 'example.com', url: 'https://example.com/sign-in?for=book' }]);
    });

    verifies('T10', 'a refusal that wants a URL visited is asked, and the call repeated once after', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: 'accept' }) });
      expect(said(await heddle.call('demo.gated'))).toBe('opened');
      const other = await opened(await entryOf(), { onElicitation: () => ({ action: 'decline' }) });
      expect(await other.call('demo.gated')).toMatchObject({ isError: true, server: 'demo' });
    });

    verifies('T10', 'sampling is capped, and its quota kept', async () => {
      const seen: JsonObject[] = [];
      const sample = ({ params }: { params: JsonObject }) => {
        seen.push(params);
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Roses' } };
      };
      const heddle = await opened(await entryOf(), { onSampling: sample });
      expect(said(await heddle.call('demo.write'))).toMatchObject({ content: { text: 'Roses' } });
      expect(seen).toMatchObject([{ maxTokens: 4096 }]);
      for (let calls = 1; calls < 10; calls++) await heddle.call('demo.write');
      const over = await heddle.call('demo.write');
      expect([over.isError, seen.length]).toEqual([true, 10]);
      expect(JSON.stringify(over.value)).toContain('10 times in 60000 ms');
    });

    verifies('T10', 'roots come from the program that gives them', async () => {
      const heddle = await opened(await entryOf(), { onRoots: () => ['/srv/work', 'file:///srv/docs'] });
      const roots = [{ uri: 'file:///srv/work', name: 'work' }, { uri: 'file:///srv/docs' }];
      expect(said(await heddle.call('demo.where'))).toEqual({ roots });
    });

    verifies('T10', 'a server is told exactly what can be asked, and refused what cannot', async () => {
      const none = await opened(await entryOf());
      expect(said(await none.call('demo.abilities'))).toEqual({});
      expect((await none.call('demo.book')).isError).toBe(true);
      expect((await none.call('demo.where')).isError).toBe(true);
      const some = await opened(await entryOf(), { onElicitation: () => ({ action: 'cancel' }), onRoots: () => [] });
      expect(said(await some.call('demo.abilities'))).toEqual({ elicitation: { form: {}, url: {} }, roots: {} });
      expect((await some.call('demo.write')).isError).toBe(true);
    });

    verifies('T10', 'a server that gave up its question ends the call its own way', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: tooLate });
      expect(said(await heddle.call('demo.impatient'))).toEqual({ gaveUp: -32001 });
    });

    if (MEASURES) {
      verifies('T6', 'the time a person takes does not count', async () => {
        const slowly = () => wait(500, { action: 'accept' as const, content: ANN });
        const heddle = await opened(await entryOf(), { onElicitation: slowly });
        expect(said(await heddle.call('demo.book', {}, { timeoutMs: 300 }))).toEqual(FILLED);
      });
    }

    verifies('T6', 'a call can be cancelled while a person is asked', async () => {
      const abort = new AbortController();
      let seen: AbortSignal | undefined;
      const second = await opened(await entryOf(), {
        onElicitation: ({ signal }) => {
          seen = signal;
          return new Promise(() => {}); // It does not heed the signal, and need not.
        },
      });
      const call = second.call('demo.book', {}, { signal: abort.signal });
      await until('it is asked', () => seen !== undefined);
      abort.abort();
      await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      expect(seen?.aborted).toBe(true);
    });
  });
}

describe('SDK 2.4 without sessions', () => {
  verifies('T10', 'a question that is an answer is asked, and the call repeated with state and answer', async () => {
    const { entry, given } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: ANN }) });
    expect(said(await heddle.call('demo.book'))).toEqual({ who: FILLED });
    expect(said(await heddle.call('demo.stateless'))).toEqual({ who: FILLED });
    expect(said(await heddle.call('demo.both'))).toEqual({ left: FILLED, right: FILLED });
    expect(said(await heddle.call('demo.patience'))).toBe('wait');
    expect(given.map(({ state }) => state)).toEqual([
      undefined,
      's1',
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      'wait',
    ]);
  });

  verifies('T10', 'a form that asks for a secret ends the call, and says why', async () => {
    const { entry, given } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: {} }) });
    const { isError, value } = await heddle.call('demo.steal');
    expect([isError, given.length]).toEqual([true, 1]);
    expect(JSON.stringify(value)).toContain('asks for a secret (password)');
  });

  verifies('T10', 'a server that asks for ever is not asked for ever', async () => {
    const { entry, given } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: ANN }) });
    // Its word that it only reads is not trusted here.
    await expect(heddle.call('demo.endless')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(given).toHaveLength(8);
  });

  verifies('T10', 'each request says what its own caller can be asked', async () => {
    const { entry } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'cancel' }) });
    expect(said(await heddle.call('demo.abilities'))).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } },
    });
    const none = await opened(entry);
    await expect(none.call('demo.book')).rejects.toMatchObject({ details: { rpc: { code: -32021 } } });
  });
});

describe('in a program', () => {
  verifies('T10', 'hooks see every question and answer, may change both, and may refuse', async () => {
    const seen: unknown[] = [];
    const heddle = await opened(STDIO, {
      onElicitation: ({ message }) => ({ action: 'accept', content: { ...ANN, name: message } }),
      hooks: {
        beforeInputRequest: ({ method, params = {} }) => {
          seen.push(params.message);
          if (params.message === 'Second?') return false;
          return { method, params: { ...params, message: 'Changed' } };
        },
        afterInputRequest: (_request, answer) => {
          const { content } = answer as { content: JsonObject };
          return { ...answer, content: { ...content, seats: 5 } };
        },
      },
    });
    const changed = { action: 'accept', content: { name: 'Changed', seats: 5, class: 'first' } };
    expect(said(await heddle.call('demo.twice'))).toEqual([changed, { action: 'decline' }]);
    expect(seen).toEqual(['First?', 'Second?']);
  });

  verifies('T10', 'an answer that does not fit is an error that names the field, and ends the call', async () => {
    const heddle = await opened(STDIO, { onElicitation: () => ({ action: 'accept', content: { ...ANN, seats: 10 } }) });
    await expect(heddle.call('demo.book')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: { field: 'seats' },
      message: 'The answer cannot be passed on: seats may be at most 9.',
    });
  });

  verifies('T10', 'a server that dies while it waits leaves a clear error, and the next call works', async () => {
    const mark = `HEDDLE_TEST_MARK=${randomUUID()}`;
    const elicit = (one: Elicitation) => {
      killAll(carriersOf(mark));
      return tooLate(one);
    };
    const heddle = await opened({ ...STDIO, env: { HEDDLE_TEST_MARK: mark.slice(17) } }, { onElicitation: elicit });
    await expect(heddle.call('demo.book')).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      message: expect.stringContaining('ended while its call waited for the user'),
    });
    expect(said(await heddle.call('demo.abilities'))).toMatchObject({ elicitation: {} });
  });

  for (const [kind, entryOf] of Object.entries({
    ...SERVERS_BY_KIND,
    'SDK 2.4 without sessions': async () => (await modern()).entry,
  })) {
    verifies('T10', `configured roots are told to whoever asks, without asking anybody: ${kind}`, async () => {
      const { folder, env } = project({ 'heddle.json': { roots: ['work', 'file:///srv/docs'] } });
      const heddle = await temporaryHeddleClient({
        folder,
        env,
        trustProject: true,
        servers: { demo: await entryOf() },
      });
      const answer = said(await heddle.call('demo.where')) as { roots: { roots?: unknown } };
      const roots = [{ uri: `file://${join(folder, 'work')}`, name: 'work' }, { uri: 'file:///srv/docs' }];
      expect(answer.roots.roots ?? answer.roots).toEqual(roots);
    });
  }
});
