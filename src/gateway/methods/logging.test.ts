import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import { gatewayUnderTest, modern, openSession } from '../fixtures.ts';
import type { LogSettings, RequestContext } from '../request-context.ts';
import { logOf } from './logging.ts';

const LEVEL = 'io.modelcontextprotocol/logLevel';

function requestOf(era: RequestContext['era'], level?: string) {
  const [sent, late]: [unknown[], unknown[]] = [[], []];
  let isOpen = true;
  const logging: LogSettings = { level, notifyLater: ({ data }) => late.push(data) };
  const notify = (_method: string, { data }: JsonObject) => isOpen && sent.push(data) > 0;
  const { signal } = new AbortController();
  const context: RequestContext = { id: 1, era, caller: ada, signal, notify, ...(era === 'legacy' && { logging }) };
  return { context, sent, late, end: () => (isOpen = false) };
}

describe('log messages of servers', () => {
  verifies('P1', 'go to the request while it is open, and then to the session', () => {
    const { context, sent, late, end } = requestOf('legacy', 'notice');
    const log = logOf({}, context);
    for (const level of ['debug', 'info', 'notice', 'emergency', 'unheard-of', 7])
      log?.onMessage({ level, data: level });
    end();
    log?.onMessage({ level: 'error', data: 'late' });
    expect([sent, late]).toEqual([['notice', 'emergency'], ['late']]);
  });

  verifies('P1', 'are sent only if the client has set a level in the way of its era', () => {
    expect(logOf({ [LEVEL]: 'debug' }, requestOf('legacy').context)).toBeUndefined();
    expect(logOf({ [LEVEL]: 'loud' }, requestOf('modern').context)).toBeUndefined();
    expect(logOf(undefined, requestOf('modern').context)).toBeUndefined();
    expect(logOf({ [LEVEL]: 'debug' }, requestOf('modern').context)).toMatchObject({ level: 'debug' });
  });
});

describe('logging/setLevel', () => {
  const set = (level: string) => ({ id: 1, method: 'logging/setLevel', params: { level } });

  verifies('P1', 'returns an empty result in a session', async () => {
    const gateway = await gatewayUnderTest();
    expect((await gateway.post(set('info'), await openSession(gateway))).json.result).toEqual({});
  });

  it('P6: refuses an unknown level, a client without a session, and a modern client', async () => {
    const gateway = await gatewayUnderTest();
    const session = await openSession(gateway);
    expect((await gateway.post(set('loud'), session)).json.error).toMatchObject({ code: -32602 });
    expect((await gateway.post(set('info'))).json.error).toMatchObject({ code: -32600 });
    expect((await gateway.post(...modern('logging/setLevel', { level: 'info' }))).status).toBe(404);
  });
});
