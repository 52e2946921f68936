import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';

const PROGRAM = `
  import { registerHooks } from 'node:module';
  const loaded = [];
  registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
  const isLoaded = () => loaded.some((url) => url.includes('/node_modules/jose/'));
  const { authenticator } = await import('${new URL('./authenticate.ts', import.meta.url).href}');
  const auth = { issuer: 'https://issuer.example', audience: 'a', algorithms: ['ES256'], scopes: {} };
  const access = { settings: () => ({ gateway: { auth } }), keyOf: async () => undefined };
  const authenticate = authenticator({ token: 'owner', access });
  const send = async (credential) => [await authenticate({ headers: { authorization: 'Bearer ' + credential } }), isLoaded()];
  const results = [await send('owner'), await send('hk_unknown'), await send('a.b.c')];
  process.stdout.write(JSON.stringify(results.map(([caller, isLoaded]) => [caller?.id ?? caller?.status ?? null, isLoaded])));
`;

verifies('P4', 'loads jose with the first JWT, not for the owner token or a key', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM]);
  expect(JSON.parse(stdout)).toEqual([
    ['owner', false],
    [null, false],
    [401, true],
  ]);
});
