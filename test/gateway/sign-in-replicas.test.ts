import { describe, expect, onTestFinished } from 'vitest';
import { freshPostgres, testPostgres } from '../../src/store/fixtures.ts';
import { verifies } from '../requirements.ts';
import { scriptedBrowser } from '../servers/scripted-browser.ts';
import { pageIn, signInGateway, textOf } from '../servers/sign-in-gateway.ts';
import { until } from '../until.ts';

/** The address of the proxy before the replicas. The browser plays the proxy. */
const PUBLIC_URL = 'http://localhost:9';
const URL_CAPABLE = { elicitation: { url: {} } };

/** Opens two gateways with one Postgres database and one key, and a caller with an API key for both. */
async function twoGateways() {
  const database = await freshPostgres();
  onTestFinished(() => database.remove());
  const gateway = { publicUrl: PUBLIC_URL };
  const shared = { gateway, store: database.location, env: { HEDDLE_SECRET_KEY: 'one key for both replicas' } };
  const first = await signInGateway({ era: 'modern', ...shared });
  const second = await signInGateway({ era: 'modern', ...shared, replicaOf: first });
  const key = await first.credentialOf('ada');
  return { first, second, key };
}

describe.skipIf(!testPostgres)('two gateways on Postgres', () => {
  verifies('A6', 'share tickets, callbacks and tokens', async () => {
    const { first, second, key } = await twoGateways();
    const page = pageIn(textOf(await first.call(key)));
    const browser = scriptedBrowser();
    // A proxy sends each step to another replica.
    browser.replace(PUBLIC_URL, first.origin);
    const shown = await browser.open(page);
    browser.replace(PUBLIC_URL, second.origin);
    const atServer = await browser.submit(shown, { credential: key });
    browser.replace(PUBLIC_URL, first.origin);
    const end = await browser.submit(atServer, { login: 'ada_account' });
    expect(end.body).toContain('Signed in');
    expect(textOf(await second.call(key))).toBe('ada_account');
    expect(textOf(await first.call(key))).toBe('ada_account');
  });

  verifies('A6', 'let a call at one go on after the callback at the other', async () => {
    const { first, second, key } = await twoGateways();
    const result = await first.call(key, 'whoami', URL_CAPABLE);
    expect(result).toMatchObject({ resultType: 'input_required' });
    const page = pageIn(JSON.stringify(result.inputRequests));
    const again = first.call(key, 'whoami', URL_CAPABLE, {
      requestState: result.requestState,
      inputResponses: { sign_in: { action: 'accept' } },
    });
    const browser = scriptedBrowser();
    browser.replace(PUBLIC_URL, second.origin);
    const atServer = await browser.submit(await browser.open(page), { credential: key });
    await browser.submit(atServer, { login: 'ada_account' });
    expect(textOf(await again)).toBe('ada_account');
  });

  verifies('A6', 'end the access of a caller at both after a revocation at one', async () => {
    const { first, second, key } = await twoGateways();
    const browser = scriptedBrowser();
    browser.replace(PUBLIC_URL, first.origin);
    const page = pageIn(textOf(await first.call(key)));
    await browser.submit(await browser.submit(await browser.open(page), { credential: key }), { login: 'ada_account' });
    for (const { call } of [first, second]) expect(textOf(await call(key))).toBe('ada_account');
    const by = { id: 'key:ada', roles: ['user'], via: 'gateway' } as const;
    await first.gateway.heddle.signIns.forget(by, 'notes', new AbortController().signal);
    for (const { call } of [first, second]) {
      await until('the call needs a sign-in', async () => pageIn(textOf(await call(key))) !== '');
    }
  });
});
