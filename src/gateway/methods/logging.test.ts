import { describe, expect, it } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import type { JsonObject } from '../../core/call.ts';
import { ada } from '../../core/fixtures.ts';
import { gatewayUnderTest, modern, openSession } from '../fixtures.ts';
import type { LogSettings, RequestContext } from '../request-context.ts';
import { logOf } from './logging.ts';

const LEVEL = 'io.modelcontextprotocol/logLevel';

function asking(era: RequestContext['era'], level?: string) {
  const [said, late]: [unknown[], unknown[]] = [[], []];
  let isOpen = true;
  const logging: LogSettings = { level, notifyLater: ({ data }) => late.push(data) };
  const notify = (_method: string, { data }: JsonObject) => isOpen && said.push(data) > 0;
  const { signal } = new AbortController();
  const asked: RequestContext = { id: 1, era, caller: ada, signal, notify, ...(era === 'legacy' && { logging }) };
  return { asked, said, late, answer: () => (isOpen = false) };
}

describe('what servers log', () => {
  verifies('P1', 'is said on the request while it is open, and after that to the session', () => {
    const { asked, said, late, answer } = asking('legacy', 'notice');
    const log = logOf({}, asked);
    for (const level of ['debug', 'info', 'notice', 'emergency', 'unheard-of', 7])
      log?.onMessage({ level, data: level });
    answer();
    log?.onMessage({ level: 'error', data: 'late' });
    expect([said, late]).toEqual([['notice', 'emergency'], ['late']]);
  });

  verifies('P1', 'is not said to those who have not asked for it in the way of their era', () => {
    expect(logOf({ [LEVEL]: 'debug' }, asking('legacy').asked)).toBeUndefined();
    expect(logOf({ [LEVEL]: 'loud' }, asking('modern').asked)).toBeUndefined();
    expect(logOf(undefined, asking('modern').asked)).toBeUndefined();
    expect(logOf({ [LEVEL]: 'debug' }, asking('modern').asked)).toMatchObject({ level: 'debug' });
  });
});

describe('logging/setLevel', () => {
  const set = (level: string) => ({ id: 1, method: 'logging/setLevel', params: { level } });

  verifies('P1', 'is answered in a session, with nothing', async () => {
    const gateway = await gatewayUnderTest();
    expect((await gateway.post(set('info'), await openSession(gateway))).json.result).toEqual({});
  });

  it('P6: refuses what is no level, where there is no session, and in the era that has none', async () => {
    const gateway = await gatewayUnderTest();
    const session = await openSession(gateway);
    expect((await gateway.post(set('loud'), session)).json.error).toMatchObject({ code: -32602 });
    expect((await gateway.post(set('info'))).json.error).toMatchObject({ code: -32600 });
    expect((await gateway.post(...modern('logging/setLevel', { level: 'info' }))).status).toBe(404);
  });
});
