import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  openAuthorizationServer,
} from '../../../../test/servers/authorization-server.ts';
import { openProtectedServer, type ProtectedServer } from '../../../../test/servers/protected-server.ts';
import { scriptedBrowser } from '../../../../test/servers/scripted-browser.ts';
import { temporaryFolder } from '../../../../test/temporary-heddle.ts';
import { HeddleError } from '../../../core/errors.ts';
import type { OpenRedirect } from '../../../core/records/sign-in.ts';
import { guardedFetch } from '../../../egress/guarded-fetch.ts';
import { openStore } from '../../../store/open-store.ts';
import type { Store } from '../../../store/store.ts';
import type { AuthParts } from '../auth-parts.ts';
import { type BeginRequest, beginSignIn, type SignInTarget } from './begin-sign-in.ts';
import { type FinishRequest, finishSignIn } from './finish-sign-in.ts';

export const PRINCIPAL = 'shared';

export interface SignInBench {
  readonly as: AuthorizationServer;
  readonly protectedServer: ProtectedServer;
  readonly store: Store;
  readonly parts: AuthParts;
  readonly target: SignInTarget;
  /** The time limit of every request from now on, in milliseconds. */
  timeoutMs: number | undefined;
  /** Moves the clock of the sign-ins. */
  advance(ms: number): void;
  begin(change?: Partial<BeginRequest>): ReturnType<typeof beginSignIn>;
  /** Signs in as Ada in the browser. Returns the redirect to Heddle. */
  visit(begun: { readonly url: string; readonly redirectUri: string }): Promise<string>;
  finish(query: string, change?: Partial<FinishRequest>): ReturnType<typeof finishSignIn>;
}

/** A listener that gets the wanted port, or the next one. Nothing is bound: the browser stops before the redirect. */
export function listenerFrom(firstPort = 40_001, taken: readonly number[] = []): OpenRedirect {
  let next = firstPort;
  return async ({ host, port }) =>
    port !== undefined && taken.includes(port) ? undefined : `http://${host}:${port ?? next++}/callback`;
}

/** Opens an authorization server, a protected server and a store for one test. */
export async function openSignInBench(options: AuthorizationServerOptions = {}): Promise<SignInBench> {
  const as = await openAuthorizationServer(options);
  const protectedServer = await openProtectedServer({
    ...{ era: 'modern', authorizationServers: [as], requiredScopes: ['mcp:read'] },
  });
  const folder = await temporaryFolder();
  let now = Date.now();
  const clock = () => now;
  const store = await openStore({
    ...{ location: join(folder, 'store.db'), home: folder, env: {}, keyring: async () => undefined, clock },
  });
  onTestFinished(async () => {
    await Promise.all([as.close(), protectedServer.close(), store.close()]);
  });
  const { vault, clients, signIns, leases } = store;
  const parts: AuthParts = {
    ...{ vault, clients, signIns, leases, clock },
    fetch: (address, request) => guardedFetch(address, { ...request, env: {}, timeoutMs: bench.timeoutMs ?? 60_000 }),
  };
  const target = { server: 'demo', serverUrl: protectedServer.url, principal: PRINCIPAL };
  const browser = scriptedBrowser();
  const redirect = listenerFrom();
  const bench: SignInBench = {
    ...{ as, protectedServer, store, parts, target, timeoutMs: undefined },
    advance: (ms) => {
      now += ms;
    },
    begin: (change = {}) => beginSignIn(parts, { target, redirect, ...change }),
    visit: async ({ url, redirectUri }) => (await browser.signIn(url, 'ada', redirectUri)).url,
    finish: (query, change = {}) => finishSignIn(parts, { query, target, ...change }),
  };
  return bench;
}

/** Returns the error of a step. Fails if there is none. */
export async function failureOf(step: Promise<unknown>): Promise<HeddleError> {
  const thrown = await step.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(HeddleError.is(thrown), String(thrown)).toBe(true);
  return thrown as HeddleError;
}

/** Returns the tokens in the vault. */
export const storedGrant = ({ store, target }: SignInBench) => store.vault.find(target.serverUrl, PRINCIPAL);
