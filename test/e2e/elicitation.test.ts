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
import { elicitingModernServer } from '../servers/eliciting-modern-server.ts';
import { elicitingSessionServer } from '../servers/eliciting-server.ts';
import { temporaryHeddleClient } from '../temporary-heddle.ts';
import { until } from '../until.ts';
import { project, SERVERS } from './heddle-command.ts';

const STDIO = { command: process.execPath, args: [join(SERVERS, 'eliciting-server.ts')] };
const ANN = { name: 'Ann', class: 'first' };
const FILLED = { action: 'accept', content: { name: 'Ann', seats: 2, class: 'first' } };

const opened = (entry: JsonObject, options: OpenOptions = {}): Promise<HeddleClient> =>
  temporaryHeddleClient({ env: process.env, servers: { demo: entry }, ...options });

/** Answers only after the elicitation is cancelled. */
const tooLate = async ({ signal }: Elicitation) => {
  if (!signal.aborted) await once(signal, 'abort');
  return { action: 'accept' as const, content: ANN };
};

function resultOf({ value }: CallResult): unknown {
  return JSON.parse(text(value));
}

const SERVERS_BY_KIND = {
  'SDK 1.32 over stdio': async () => STDIO,
  'SDK 1.32 over HTTP': async () => {
    const server = await elicitingSessionServer();
    onTestFinished(() => server.close());
    return { type: 'http', url: server.url };
  },
};

async function modern() {
  const server = await elicitingModernServer();
  onTestFinished(() => server.close());
  return { entry: { type: 'http', url: server.url }, calls: server.calls };
}

for (const [kind, entryOf] of Object.entries(SERVERS_BY_KIND)) {
  describe(kind, () => {
    // Each test over stdio starts a server. Rules that do not depend on the transport have one transport in `npm test`.
    const verifiesRule = MEASURES || kind === 'SDK 1.32 over HTTP' ? verifies : () => {};

    verifies('T10', 'passes a form to the program and its checked response with defaults to the server', async () => {
      const elicitations: Elicitation[] = [];
      const elicit = (one: Elicitation) => {
        elicitations.push(one);
        return { action: 'accept' as const, content: { ...ANN, stray: 1 } };
      };
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      expect(resultOf(await heddle.call('demo.book'))).toEqual(FILLED);
      expect(elicitations).toMatchObject([
        { server: 'demo', tool: 'demo.book', mode: 'form', message: 'Who is travelling?' },
      ]);
      expect(elicitations[0]?.mode === 'form' && elicitations[0].fields.map(({ name, kind }) => [name, kind])).toEqual([
        ['name', 'text'],
        ['seats', 'integer'],
        ['class', 'choice'],
        ['meal', 'boolean'],
      ]);
    });

    verifiesRule('T10', 'passes decline and cancel to the server', async () => {
      const actions = ['decline', 'cancel'] as const;
      let at = 0;
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: actions[at++] as 'decline' }) });
      expect(resultOf(await heddle.call('demo.twice'))).toEqual([{ action: 'decline' }, { action: 'cancel' }]);
    });

    verifies('T10', 'passes two concurrent elicitations of one call', async () => {
      const messages: string[] = [];
      const heddle = await opened(await entryOf(), {
        onElicitation: ({ message }) => {
          messages.push(message);
          return { action: 'accept', content: { ...ANN, name: message } };
        },
      });
      const both = resultOf(await heddle.call('demo.both')) as { content: JsonObject }[];
      expect(both.map(({ content }) => content.name)).toEqual(['Left?', 'Right?']);
      expect(messages).toEqual(['Left?', 'Right?']);
    });

    verifies('T10', 'gives concurrent calls their own responses', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: 'accept', content: ANN }) });
      const results = await Promise.all(Array.from({ length: 6 }, () => heddle.call('demo.book')));
      for (const result of results) expect(resultOf(result)).toEqual(FILLED);
    });

    verifiesRule('T10', 'refuses a form with a secret field and names the field', async () => {
      let count = 0;
      const elicit = () => ({ action: 'accept' as const, content: { apiKey: String(++count) } });
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      const { isError, value } = await heddle.call('demo.steal');
      expect([isError, count]).toEqual([true, 0]);
      expect(JSON.stringify(value)).toContain('its field apiKey asks for a secret');
    });

    verifiesRule('T10', 'passes a URL with its host and returns only the action', async () => {
      const elicitations: Elicitation[] = [];
      const elicit = (one: Elicitation) => {
        elicitations.push(one);
        return { action: 'accept' as const, content: { stray: true } };
      };
      const heddle = await opened(await entryOf(), { onElicitation: elicit });
      expect(resultOf(await heddle.call('demo.sign_in'))).toEqual({ action: 'accept' });
      expect(elicitations).toMatchObject([
        { mode: 'url', host: 'example.com', url: 'https://example.com/sign-in?for=book' },
      ]);
    });

    verifiesRule('T10', 'elicits the URL of a -32042 error and repeats the call once', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: () => ({ action: 'accept' }) });
      expect(resultOf(await heddle.call('demo.gated'))).toBe('opened');
      const other = await opened(await entryOf(), { onElicitation: () => ({ action: 'decline' }) });
      expect(await other.call('demo.gated')).toMatchObject({ isError: true, server: 'demo' });
    });

    verifiesRule('T10', 'limits maxTokens and the number of sampling requests', async () => {
      const seen: JsonObject[] = [];
      const sample = ({ params }: { params: JsonObject }) => {
        seen.push(params);
        return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Roses' } };
      };
      const heddle = await opened(await entryOf(), { onSampling: sample });
      expect(resultOf(await heddle.call('demo.write'))).toMatchObject({ content: { text: 'Roses' } });
      expect(seen).toMatchObject([{ maxTokens: 4096 }]);
      for (let calls = 1; calls < 10; calls++) await heddle.call('demo.write');
      const over = await heddle.call('demo.write');
      expect([over.isError, seen.length]).toEqual([true, 10]);
      expect(JSON.stringify(over.value)).toContain('10 times in 60000 ms');
    });

    verifiesRule('T10', 'returns the roots of the program', async () => {
      const heddle = await opened(await entryOf(), { onRoots: () => ['/srv/work', 'file:///srv/docs'] });
      const roots = [{ uri: 'file:///srv/work', name: 'work' }, { uri: 'file:///srv/docs' }];
      expect(resultOf(await heddle.call('demo.where'))).toEqual({ roots });
    });

    verifiesRule('T10', 'declares the capabilities of the program and refuses other input requests', async () => {
      const none = await opened(await entryOf());
      expect(resultOf(await none.call('demo.capabilities'))).toEqual({});
      expect((await none.call('demo.book')).isError).toBe(true);
      expect((await none.call('demo.where')).isError).toBe(true);
      const some = await opened(await entryOf(), { onElicitation: () => ({ action: 'cancel' }), onRoots: () => [] });
      const declared = { elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
      expect(resultOf(await some.call('demo.capabilities'))).toEqual(declared);
      expect((await some.call('demo.write')).isError).toBe(true);
    });

    verifies('T10', 'returns the result of a server that has cancelled its elicitation', async () => {
      const heddle = await opened(await entryOf(), { onElicitation: tooLate });
      expect(resultOf(await heddle.call('demo.impatient'))).toEqual({ gaveUp: -32001 });
    });

    if (MEASURES) {
      verifies('T6', 'does not count the time of the user against the timeout', async () => {
        const slowly = () => wait(500, { action: 'accept' as const, content: ANN });
        const heddle = await opened(await entryOf(), { onElicitation: slowly });
        expect(resultOf(await heddle.call('demo.book', {}, { timeoutMs: 300 }))).toEqual(FILLED);
      });
    }

    verifies('T6', 'cancels a call during an elicitation', async () => {
      const abort = new AbortController();
      let seen: AbortSignal | undefined;
      const second = await opened(await entryOf(), {
        onElicitation: ({ signal }) => {
          seen = signal;
          return new Promise(() => {}); // Ignores the signal.
        },
      });
      const call = second.call('demo.book', {}, { signal: abort.signal });
      await until('the elicitation has come', () => seen !== undefined);
      abort.abort();
      await expect(call).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
      expect(seen?.aborted).toBe(true);
    });
  });
}

describe('SDK 2.4 without sessions', () => {
  verifies('T10', 'handles an input_required result and calls again with requestState and responses', async () => {
    const { entry, calls } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: ANN }) });
    expect(resultOf(await heddle.call('demo.book'))).toEqual({ who: FILLED });
    expect(resultOf(await heddle.call('demo.stateless'))).toEqual({ who: FILLED });
    expect(resultOf(await heddle.call('demo.both'))).toEqual({ left: FILLED, right: FILLED });
    expect(resultOf(await heddle.call('demo.patience'))).toBe('wait');
    expect(calls.map(({ state }) => state)).toEqual([
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

  verifies('T10', 'ends the call for a form with a secret field and names the field', async () => {
    const { entry, calls } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: {} }) });
    const { isError, value } = await heddle.call('demo.steal');
    expect([isError, calls.length]).toEqual([true, 1]);
    expect(JSON.stringify(value)).toContain('asks for a secret (password)');
  });

  verifies('T10', 'ends the call after 8 input_required results', async () => {
    const { entry, calls } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'accept', content: ANN }) });
    // Its readOnlyHint is not trusted here.
    await expect(heddle.call('demo.endless')).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(calls).toHaveLength(8);
  });

  verifies('T10', 'each request declares the capabilities of its own caller', async () => {
    const { entry } = await modern();
    const heddle = await opened(entry, { onElicitation: () => ({ action: 'cancel' }) });
    expect(resultOf(await heddle.call('demo.capabilities'))).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} } },
    });
    const none = await opened(entry);
    await expect(none.call('demo.book')).rejects.toMatchObject({ details: { rpc: { code: -32021 } } });
  });
});

describe('in a program', () => {
  verifies('T10', 'hooks see every input request and response, and may refuse both', async () => {
    const seen: unknown[] = [];
    const heddle = await opened(STDIO, {
      onElicitation: ({ message }) => ({ action: 'accept', content: { ...ANN, name: message } }),
      hooks: {
        beforeInputRequest: ({ request: { params = {} } }) => {
          seen.push(params.message);
          return { effect: params.message === 'Second?' ? 'deny' : 'allow' };
        },
        afterInputResponse: ({ response, server }) => {
          seen.push([server, response]);
          return undefined;
        },
      },
    });
    const first = { ...FILLED, content: { ...FILLED.content, name: 'First?' } };
    expect(resultOf(await heddle.call('demo.twice'))).toEqual([first, { action: 'decline' }]);
    expect(seen).toEqual(['First?', ['demo', first], 'Second?']);
  });

  verifies('T10', 'an invalid response ends the call with an error that names the field', async () => {
    const heddle = await opened(STDIO, { onElicitation: () => ({ action: 'accept', content: { ...ANN, seats: 10 } }) });
    await expect(heddle.call('demo.book')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      details: { field: 'seats' },
      message: 'The answer cannot be passed on: seats may be at most 9.',
    });
  });

  verifies('T10', 'a server that dies during an elicitation is OUTCOME_UNKNOWN, and the next call works', async () => {
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
    expect(resultOf(await heddle.call('demo.capabilities'))).toMatchObject({ elicitation: {} });
  });

  for (const [kind, entryOf] of Object.entries({
    ...SERVERS_BY_KIND,
    'SDK 2.4 without sessions': async () => (await modern()).entry,
  })) {
    verifies('T10', `returns the configured roots without an input request: ${kind}`, async () => {
      const { folder, env } = project({ 'heddle.json': { roots: ['work', 'file:///srv/docs'] } });
      const heddle = await temporaryHeddleClient({
        folder,
        env,
        trustProject: true,
        servers: { demo: await entryOf() },
      });
      const answer = resultOf(await heddle.call('demo.where')) as { roots: { roots?: unknown } };
      const roots = [{ uri: `file://${join(folder, 'work')}`, name: 'work' }, { uri: 'file:///srv/docs' }];
      expect(answer.roots.roots ?? answer.roots).toEqual(roots);
    });
  }
});
