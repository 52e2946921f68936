// The scenarios of the suite about signing in. A person is replaced by one request: the suite's authorization server
// redirects at once.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeddleClient, JsonObject } from '../../src/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import { SHARED_PRINCIPAL } from '../../src/store/token-vault.ts';
import { call, context, type Scenario, SERVER, storeIn } from './scenario.ts';

const REDIRECT = 'http://127.0.0.1:53682/callback';
/** The most sign-ins for one call, as in the CLI. */
const MAX_SIGN_INS = 2;

/** Signs in as a browser and its user would. */
async function signIn({ signIns }: HeddleClient): Promise<void> {
  const { url, state } = await signIns.begin(SERVER, { redirect: REDIRECT });
  const response = await fetch(url, { redirect: 'manual' });
  const location = response.headers.get('location');
  if (!location?.startsWith(REDIRECT)) throw new Error(`The suite answered ${response.status} instead of a redirect.`);
  await signIns.finish(SERVER, { query: location, state });
}

/** Calls the tool of the suite, and signs in when that is needed. */
async function callSignedIn(heddle: HeddleClient): Promise<void> {
  for (let signIns = 0; ; signIns++) {
    try {
      await call(heddle, 'test-tool');
      return;
    } catch (thrown) {
      if (!isAuthNeeded(thrown) || signIns === MAX_SIGN_INS) throw thrown;
      await signIn(heddle);
    }
  }
}

const isAuthNeeded = (thrown: unknown) => thrown instanceof Error && 'code' in thrown && thrown.code === 'AUTH_NEEDED';

/** Signs in when that is needed, lists the tools and calls one twice: some scenarios change after the first request. */
async function use(heddle: HeddleClient): Promise<void> {
  await callSignedIn(heddle);
  await heddle.tools();
  await callSignedIn(heddle);
}

const signsIn = (oauth?: () => JsonObject): Scenario => ({
  ...(oauth && { entry: () => ({ oauth: oauth() }) }),
  connects: false,
  play: use,
});

/** A scenario without a person: the first call gets a token. */
const callsDirectly = (oauth: (folder: string) => JsonObject): Scenario => ({
  entry: (folder) => ({ oauth: oauth(folder) }),
  connects: false,
  play: (heddle) => call(heddle, 'test-tool'),
});

/** A scenario in which Heddle must refuse: the error must have the given code. */
const refuses = (code: string): Scenario => ({
  connects: false,
  async play(heddle) {
    const outcome = await use(heddle).then(
      () => 'success',
      (thrown: { readonly code?: string }) => thrown.code,
    );
    if (outcome !== code) throw new Error(`Expected ${code} and got ${outcome}.`);
  },
});

const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';
const client = () => ({ clientId: context().client_id, clientSecret: context().client_secret });

/** Writes the JWT of the suite to a file, as a platform does for its workloads. */
function assertionFile(folder: string): string {
  const file = join(folder, 'assertion.jwt');
  writeFileSync(file, context().valid_jwt);
  return file;
}

/** Stores the session at the identity provider: the suite's provider has no sign-in. */
async function storeProviderSession(folder: string): Promise<void> {
  const { idp_issuer: issuer, idp_client_id: clientId, idp_id_token: idToken } = context();
  const home = join(folder, 'home');
  const store = await openStore({ location: storeIn(folder), home, env: {} });
  const session = { issuer, resource: issuer, principal: SHARED_PRINCIPAL, serverUrl: issuer, clientId, idToken };
  const tokens = { accessToken: 'unused', tokenType: 'Bearer' as const, receivedAt: Date.now(), scopes: ['openid'] };
  await store.vault.put({ ...session, ...tokens }, 1);
  await store.close();
}

/** The scenarios by their names without `auth/`. */
export const AUTH_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'metadata-default': signsIn(),
  'metadata-var1': signsIn(),
  'metadata-var2': signsIn(),
  'metadata-var3': signsIn(),
  'basic-cimd': signsIn(() => ({ clientMetadataUrl: METADATA_DOCUMENT })),
  'scope-from-www-authenticate': signsIn(),
  'scope-from-scopes-supported': signsIn(),
  'scope-omitted-when-undefined': signsIn(),
  'scope-step-up': signsIn(),
  'scope-retry-limit': refuses('AUTH_NEEDED'),
  'token-endpoint-auth-basic': signsIn(),
  'token-endpoint-auth-post': signsIn(),
  'token-endpoint-auth-none': signsIn(),
  'pre-registration': signsIn(client),
  'resource-mismatch': refuses('AUTH_REFUSED'),
  'offline-access-scope': signsIn(),
  'offline-access-not-supported': signsIn(),
  'authorization-server-migration': signsIn(),
  'iss-supported': signsIn(),
  'iss-not-advertised': signsIn(),
  'iss-supported-missing': refuses('AUTH_REFUSED'),
  'iss-wrong-issuer': refuses('AUTH_REFUSED'),
  'iss-unexpected': refuses('AUTH_REFUSED'),
  'iss-normalized': refuses('AUTH_REFUSED'),
  'metadata-issuer-mismatch': refuses('AUTH_REFUSED'),
  '2025-03-26-oauth-metadata-backcompat': signsIn(),
  '2025-03-26-oauth-endpoint-fallback': signsIn(),
  'client-credentials-jwt': callsDirectly(() => ({
    ...{ grant: 'client_credentials', clientId: context().client_id, privateKey: context().private_key_pem },
  })),
  'client-credentials-basic': callsDirectly(() => ({ grant: 'client_credentials', ...client() })),
  'wif-jwt-bearer': callsDirectly((folder) => ({
    ...{ grant: 'jwt_bearer', clientId: context().client_id, assertionFile: assertionFile(folder) },
  })),
  dpop: signsIn(),
  'dpop-nonce': signsIn(),
  'enterprise-managed-authorization': {
    ...callsDirectly(() => ({ xaa: true, ...client() })),
    config: () => ({ xaa: { issuer: context().idp_issuer, clientId: context().idp_client_id } }),
    prepare: storeProviderSession,
  },
};
