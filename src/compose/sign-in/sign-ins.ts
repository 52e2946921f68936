import { requireRole } from '../../core/call/caller.ts';
import { OWNER_PRINCIPAL, vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { SignIns } from '../../core/records/sign-in.ts';
import { unknownServer } from '../../core/records/unknown-server.ts';
import { isLoopbackHost } from '../../core/text/loopback-host.ts';
import type { Store } from '../../store/store.ts';
import { SHARED_PRINCIPAL } from '../../store/token-vault.ts';
import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import type { SignInTarget } from '../../upstream/auth/sign-in/begin-sign-in.ts';
import { canSignIn } from '../../upstream/lifecycle/credential-of.ts';
import { whyNotConnectable } from '../../upstream/lifecycle/plan-server.ts';
import type { ActiveConfig } from '../active-config.ts';
import { auditedChanges } from '../audited-change.ts';
import type { SignInServer } from './sign-in-list.ts';

export interface SignInsOptions {
  readonly active: () => Pick<ActiveConfig, 'configs'>;
  readonly store: Pick<Store, 'audit' | 'vault' | 'signIns' | 'rekey'>;
  readonly auth: AuthParts;
  readonly serverVisible: (by: Caller, server: string) => boolean;
  /** Called when the credentials of a principal were stored or removed. */
  readonly onCredential?: (server: string, principal: string, change: 'stored' | 'removed') => Promise<void>;
}

// Loaded on first use: most commands sign in nowhere.
const loadList = async () => (await import('./sign-in-list.ts')).listSignIns;
const loadBegin = () => import('../../upstream/auth/sign-in/begin-sign-in.ts');

/** Returns the sign-ins. They bypass the stages, so they check roles and write audit records themselves. */
export function signIns({ active, store, auth, serverVisible, onCredential }: SignInsOptions): SignIns {
  const { clock } = auth;
  const audited = auditedChanges({ area: 'signIns', audit: store.audit, clock });

  const serversFor = (by: Caller): readonly SignInServer[] =>
    [...active().configs.values()].flatMap(({ name, entry, problem }) =>
      entry && !problem && canSignIn(entry) && serverVisible(by, name) ? [{ name, entry }] : [],
    );

  /** Finds the server and the owner of its credentials. Throws before any request is sent. */
  function targetFor(by: Caller, name: string): SignInTarget {
    const config = active().configs.get(name);
    if (!config || !serverVisible(by, name))
      throw unknownServer(
        name,
        serversFor(by).map((server) => server.name),
      );
    const error = whyNotConnectable(config);
    if (error) throw error;
    const { entry } = config;
    if (!entry || !canSignIn(entry)) throw noSignIn(name, entry);
    const isPerUser = entry.oauth?.credentials === 'user';
    if (!isPerUser) requireRole(by, ['owner', 'operator']);
    const principal = isPerUser ? vaultPrincipal(by) : SHARED_PRINCIPAL;
    return { server: name, serverUrl: entry.url, oauth: entry.oauth, principal };
  }

  const changeOf = (action: string, { server, serverUrl, principal }: SignInTarget) => ({
    action,
    detail: { server, url: serverUrl, principal },
  });

  return {
    list: (by) => loadList().then((list) => list({ store, clock, provider: auth.xaa?.()?.issuer }, serversFor(by), by)),
    async begin(by, name, { redirect, scopes = [], isAtPage = false, signal }) {
      const target = requirePage(targetFor(by, name), isAtPage);
      requirePerson(target);
      if (typeof redirect !== 'function') requireRedirect(redirect);
      return audited(by, changeOf('begin', target), async () => {
        const { beginSignIn } = await loadBegin();
        return beginSignIn(auth, { target, redirect, moreScopes: scopes, signal });
      });
    },
    async finish(by, name, { query, state, isAtPage = false, signal }) {
      const target = requirePage(targetFor(by, name), isAtPage);
      return audited(by, changeOf('finish', target), async () => {
        const { finishSignIn } = await import('../../upstream/auth/sign-in/finish-sign-in.ts');
        const done = await finishSignIn(auth, { target, query, state, signal });
        await onCredential?.(name, target.principal, 'stored');
        return done;
      });
    },
    async cancel(by, name, state) {
      const target = targetFor(by, name);
      await audited(by, changeOf('cancel', target), async () => {
        const { cancelSignIn } = await loadBegin();
        await cancelSignIn(auth, target, state);
      });
    },
    async forget(by, name, signal) {
      const target = targetFor(by, name);
      return audited(by, changeOf('forget', target), async () => {
        const { forgetSignIn } = await import('../../upstream/auth/sign-in/forget-sign-in.ts');
        const forgotten = await forgetSignIn(auth, { target, signal });
        await onCredential?.(name, target.principal, 'removed');
        return forgotten;
      });
    },
    async rekey(by) {
      requireRole(by, ['owner']);
      return audited(by, { action: 'rekey', detail: {} }, () => store.rekey());
    },
  };
}

function noSignIn(name: string, entry: object | undefined): HeddleError {
  const has = (field: string) => entry !== undefined && field in entry;
  const reason = has('headersHelper')
    ? 'its credential comes from its `headersHelper`'
    : has('url')
      ? 'its credential is in its `headers`'
      : 'it is not reached by a URL';
  return new HeddleError('USAGE_INVALID', `There is no sign-in to ${name}: ${reason}.`, {
    fix: has('url')
      ? `Take that field out of the entry of ${name} to sign in with OAuth.`
      : 'Run it without a sign-in.',
  });
}

/**
 * Returns the target. Throws PERMISSION_DENIED for an account of a caller's own, except at the page of the gateway. Only the page knows the
 * browser: with a redirect of its choice a caller could send the URL to another person, and store that person's tokens
 * as its own.
 */
function requirePage(target: SignInTarget, isAtPage: boolean): SignInTarget {
  const { server, principal } = target;
  if (isAtPage || principal === SHARED_PRINCIPAL || principal === OWNER_PRINCIPAL) return target;
  throw new HeddleError('PERMISSION_DENIED', `Callers sign in to ${server} on the page of the gateway.`, {
    fix: 'Call its tool `sign_in`, and open the address that it returns.',
  });
}

/** Throws USAGE_INVALID for a server whose grant needs no person. */
function requirePerson({ server, oauth }: SignInTarget): void {
  const grant = oauth?.grant ?? 'authorization_code';
  if (oauth?.xaa || grant === 'authorization_code') return;
  throw new HeddleError('USAGE_INVALID', `There is no sign-in to ${server}: its grant ${grant} needs none.`, {
    fix: `Call a tool of ${server}; it gets its token by itself.`,
  });
}

/** Throws INPUT_INVALID unless a code is sent to https or to this machine. */
function requireRedirect(uri: string): void {
  const url = URL.parse(uri);
  const isLoopback = url?.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url && url.hash === '' && (url.protocol === 'https:' || isLoopback)) return;
  throw new HeddleError('INPUT_INVALID', 'The redirect URI has to be an https URL, or http on this machine.', {
    fix: 'Use for example http://127.0.0.1:4000/callback.',
  });
}
