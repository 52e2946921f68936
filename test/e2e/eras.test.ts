import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { serveStdio } from '../../src/gateway/transports/serve-stdio.ts';
import { MEASURES } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { ELICITATION_CLIENTS, type Endpoint, type User } from '../servers/elicitation-clients.ts';
import { elicitingModernServer } from '../servers/eliciting-modern-server.ts';
import { elicitingSessionServer } from '../servers/eliciting-server.ts';
import type { HttpServer } from '../servers/http-servers.ts';
import { until } from '../until.ts';
import { SERVERS } from './heddle-command.ts';

type Era = 'legacy' | 'modern';
type Carrier = 'HTTP' | 'stdio';
type Known = Readonly<Record<string, unknown>>;

const ANN = { action: 'accept', content: { name: 'Ann', seats: 2, class: 'first' } };
const POEM = { role: 'assistant', model: 'm', content: { type: 'text', text: 'Roses' } };
const ROOTS = { roots: [{ uri: 'file:///home', name: 'home' }] };

async function entryOf(era: Era, carrier: Carrier): Promise<JsonObject> {
  if (carrier === 'stdio') {
    const file = era === 'legacy' ? 'eliciting-server.ts' : 'eliciting-modern-server.ts';
    return { command: process.execPath, args: [join(SERVERS, file)] };
  }
  const server: HttpServer = await (era === 'legacy' ? elicitingSessionServer() : elicitingModernServer());
  onTestFinished(() => server.close());
  return { type: 'http', url: server.url };
}

interface Cell {
  readonly client: Era;
  readonly over: Carrier;
  readonly server: JsonObject;
  readonly capabilities?: Known;
  readonly level?: 'debug' | 'warning' | undefined;
}

/** Connects a client of one era to a server of another and records the input requests. */
async function meeting({ client: era, over, server, capabilities, level }: Cell, user: User = answering) {
  const config = { sampling: { maxCalls: 10, windowMs: 60_000, maxTokens: 500 } };
  const { heddle, url } = await gatewayUnderTest({ servers: { demo: server }, config });
  const inputRequests: [string, Known][] = [];
  const logs: unknown[] = [];
  const visited: string[] = [];
  const noting: User = (method, params, signal) => {
    inputRequests.push([method, params]);
    return user(method, params, signal);
  };
  const way = over === 'HTTP' ? { url, token: TOKEN } : streamsTo(heddle);
  const client = await ELICITATION_CLIENTS[era](way, {
    user: noting,
    level,
    onLog: ({ data }) => logs.push(data),
    onElicitationComplete: (id) => visited.push(id),
    ...(capabilities && { capabilities }),
  });
  onTestFinished(() => client.close());
  const call = async (tool: string) => client.call(`mcp__demo__${tool}`);
  return { heddle, client, call, inputRequests, logs, visited };
}

function streamsTo(heddle: Parameters<typeof serveStdio>[0]['heddle']): Endpoint {
  const [there, back] = [new PassThrough(), new PassThrough()];
  const stop = new AbortController();
  void serveStdio({ heddle, caller: OWNER, input: there, output: back }, stop.signal);
  onTestFinished(() => stop.abort());
  return { input: back, output: there };
}

const answering: User = (method, params) => {
  if (method === 'roots/list') return ROOTS;
  if (method === 'sampling/createMessage') return POEM;
  if (params.mode === 'url') return { action: 'accept' };
  return ANN;
};

function textIn({ content }: Known): unknown {
  const [{ text = '' } = {}] = content as { text?: string }[];
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const ERAS: readonly Era[] = ['legacy', 'modern'];
const CLIENTS = ERAS.flatMap((client) => (['HTTP', 'stdio'] as const).map((over) => ({ client, over })));
const UPSTREAMS = (['legacy', 'modern'] as const).flatMap((era) =>
  (['stdio', 'HTTP'] as const).map((carrier) => ({ era, carrier })),
);
const ALL_CELLS = CLIENTS.flatMap((client) => UPSTREAMS.map((server) => ({ ...client, ...server })));
/** All cells in `npm run soak`, else the half with every combination of any three: an even number of modern and HTTP. */
const CELLS = ALL_CELLS.filter(
  (cell) => MEASURES || Object.values(cell).filter((value) => value === 'modern' || value === 'HTTP').length % 2 === 0,
);

describe.each(CELLS)('a $client client over $over of a $era server over $carrier', ({ client, over, era, carrier }) => {
  /** A modern server names its input requests and gets the responses by name. */
  const named = (name: string, answer: unknown) => (era === 'modern' ? { [name]: answer } : answer);

  // One connection for all of them: each connection to a server over stdio starts a process.
  verifies(
    'P3',
    'gets all kinds of input requests, may decline and cancel, and may make concurrent calls',
    async () => {
      let user = answering;
      const cell = { client, over, server: await entryOf(era, carrier) };
      const { call, inputRequests } = await meeting(cell, (...request) => user(...request));
      expect(textIn(await call('book'))).toEqual(named('who', ANN));
      expect(textIn(await call('sign_in'))).toEqual(named('page', { action: 'accept' }));
      expect(textIn(await call('write'))).toEqual(named('poem', POEM));
      expect(textIn(await call('where'))).toEqual(named('roots', ROOTS));
      expect(textIn(await call('twice'))).toEqual([ANN, ANN]);
      expect(textIn(await call('both'))).toEqual(era === 'modern' ? { left: ANN, right: ANN } : [ANN, ANN]);
      const messages = inputRequests.map(([method, { message }]) => message ?? method);
      expect(messages.slice(0, 6)).toEqual([
        'Who is travelling?',
        'Sign in.',
        'sampling/createMessage',
        'roots/list',
        'First?',
        'Second?',
      ]);
      expect(messages.slice(6).toSorted()).toEqual(['Left?', 'Right?']);
      expect(inputRequests[2]?.[1].maxTokens).toBe(500);
      // Only legacy clients get an elicitationId.
      expect(typeof inputRequests[1]?.[1].elicitationId).toBe(client === 'legacy' ? 'string' : 'undefined');

      const actions = ['decline', 'cancel'];
      user = () => ({ action: String(actions.shift()) });
      expect(textIn(await call('twice'))).toEqual([{ action: 'decline' }, { action: 'cancel' }]);

      const seen = new Set<unknown>();
      user = (_method, { message }) => {
        seen.add(message);
        return { ...ANN, content: { ...ANN.content, name: String(message) } };
      };
      const results = (await Promise.all([call('twice'), call('both'), call('book')])).map(textIn);
      const names = JSON.stringify(results).match(/(?<="name":")[^"]*/g);
      expect(names?.toSorted()).toEqual(['First?', 'Left?', 'Right?', 'Second?', 'Who is travelling?']);
      expect(seen.size).toBe(5);
    },
  );

  verifies('P1', 'gets log messages of the server from its level on', async () => {
    const server = await entryOf(era, carrier);
    const logsAt = async (level: 'debug' | 'warning') => {
      const { call, logs } = await meeting({ client, over, server, capabilities: {}, level });
      expect(textIn(await call('chatter'))).toBe('done');
      return logs;
    };
    expect(await logsAt('debug')).toEqual(['a debug', 'a warning']);
    expect(await logsAt('warning')).toEqual(['a warning']);
  });

  verifies('P3', 'without capabilities gets no input requests, and without a level no log messages', async () => {
    const server = await entryOf(era, carrier);
    const { call, inputRequests, logs } = await meeting({ client, over, server, capabilities: {} });
    expect(textIn(await call('chatter'))).toBe('done');
    expect(logs).toEqual([]);
    const outcome = await call('book').then(
      (result) => result.isError,
      (error) => error.code,
    );
    expect(outcome).toBe(client === 'modern' && era === 'modern' ? -32021 : true);
    expect(inputRequests).toEqual([]);
  });
});

describe.each(CLIENTS)('a $client client over $over', ({ client, over }) => {
  verifies('P3', 'that cancels during an input request cancels the request and the call', async () => {
    const cancelled: string[] = [];
    const server = await elicitingSessionServer(cancelled);
    onTestFinished(() => server.close());
    let withdrawn = false;
    const user: User = (_method, _params, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          withdrawn = true;
          resolve({ action: 'cancel' });
        }),
      );
    const meet = await meeting({ client, over, server: { type: 'http', url: server.url } }, user);
    const abort = new AbortController();
    const refused = expect(meet.client.call('mcp__demo__book', { signal: abort.signal })).rejects.toBeDefined();
    await until('the input request has come', () => meet.inputRequests.length === 1);
    abort.abort();
    await refused;
    if (client === 'legacy') {
      await until('the call is cancelled at the server', () => cancelled.length === 1);
      await until('the input request is cancelled', () => withdrawn);
      return;
    }
    // Between two requests there is nothing to cancel: the call stays suspended until its time is over or Heddle closes.
    expect(cancelled).toEqual([]);
    await meet.heddle.close();
    await until('the call is cancelled at the server', () => cancelled.length === 1);
  });
});

describe.each(CLIENTS.filter(({ client }) => client === 'legacy'))('a legacy client over $over', ({ client, over }) => {
  verifies(
    'P3',
    'gets the -32042 error and the completion notification of the server, and calls again itself',
    async () => {
      const { call, inputRequests, visited } = await meeting({ client, over, server: await entryOf('legacy', 'HTTP') });
      const error = await call('gated').catch((thrown) => thrown);
      expect(error).toMatchObject({
        code: -32042,
        data: { elicitations: [{ mode: 'url', message: 'Sign in first.', elicitationId: expect.any(String) }] },
      });
      expect(inputRequests).toEqual([]);
      await until('the page is visited', () => visited.length > 0);
      expect(visited).toEqual([error.data.elicitations[0].elicitationId]);
      expect(textIn(await call('gated'))).toBe('opened');
    },
  );

  verifies('P3', 'waits for a server that asks to be called again, up to a limit', async () => {
    const { call } = await meeting({ client, over, server: await entryOf('modern', 'HTTP') });
    expect(textIn(await call('patience'))).toBe('wait');
    expect(await call('endless')).toMatchObject({ isError: true });
    const plain = await meeting({ client, over, server: await entryOf('modern', 'HTTP'), capabilities: {} });
    expect(textIn(await plain.call('patience'))).toBe('wait');
  });
});
