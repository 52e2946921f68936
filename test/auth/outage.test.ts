import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { HeddleError } from '../../src/core/errors.ts';
import { openStore } from '../../src/store/open-store.ts';
import { within } from '../limits.ts';
import { verifies } from '../requirements.ts';
import { signInDirectly } from '../servers/sign-in-directly.ts';
import { temporaryFolder, temporaryHeddle } from '../temporary-heddle.ts';
import { protectedSetup } from './send-with-credential.ts';

const MINUTE = 60_000;
const caller = { id: 'local:tester', roles: ['owner' as const], via: 'cli' as const };

for (const era of ['modern', 'legacy'] as const) {
  verifies('A3', `calls while the token lasts in an outage of ten minutes, then recovers (${era})`, async () => {
    const { as, server } = await protectedSetup({ era });
    const folder = await temporaryFolder();
    const home = `${folder}/home`;
    const time = { offset: 0 };
    const clock = () => Date.now() + time.offset;
    const store = await openStore({ location: `${home}/heddle.sqlite`, home, env: {} });
    await signInDirectly({ as, server, store });
    await store.close();
    const config = { mode: 'open', mcpServers: { demo: { type: 'http', url: server.url } } };
    const heddle = await temporaryHeddle({ folder, config, clock });
    const call = () =>
      heddle
        .dispatch({
          ...{ id: randomUUID(), kind: 'tool', name: 'demo.whoami', input: {}, meta: {}, caller, options: {} },
          signal: AbortSignal.timeout(60_000),
        })
        .then(
          () => 'ada',
          (error: unknown) => {
            const { code, message } = HeddleError.from(error);
            return message.includes(as.issuer) ? `${code} names it` : `${code}: ${message}`;
          },
        );
    expect(await call()).toBe('ada');
    as.faults.down = true;
    const results: string[] = [];
    for (let minute = 55; minute < 65; minute++) {
      time.offset = minute * MINUTE;
      results.push(await call());
    }
    const lasting = results.lastIndexOf('ada') + 1;
    expect(lasting).toBeGreaterThanOrEqual(5);
    expect(new Set(results.slice(lasting))).toEqual(new Set(['UPSTREAM_UNREACHABLE names it']));
    delete as.faults.down;
    time.offset += 1000;
    expect(await within(1000, call)).toBe('ada');
  });
}
