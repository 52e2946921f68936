import { createHash } from 'node:crypto';
import type { RemoteEntry, ServerEntry } from '../../config/schema/schema.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import { refusedPrincipal } from '../../store/sign-in-book.ts';
import { SHARED_PRINCIPAL, type TokenVault } from '../../store/token-vault.ts';
import type { AuthParts } from '../auth/auth-parts.ts';
import type { ConnectorTokens } from '../auth/headers/connector-token.ts';
import type { CredentialKind, PreparedCredential } from '../auth/remembering-credential.ts';
import type { Connect, ConnectOptions } from '../connection.ts';
import { isSignInNeeded } from '../failure.ts';
import { type RefusedCalls, refusedCalls } from './refused-calls.ts';

const OAUTH_TYPES = new Set(['http', 'sse', 'ws']);
const MAX_PRINCIPALS = 1000;

/** Tests whether OAuth is used with an entry. A helper or an `Authorization` header rules it out. */
export function canSignIn(entry: ServerEntry): entry is RemoteEntry {
  if (entry.type === 'stdio' || entry.type === 'sdk' || !OAUTH_TYPES.has(entry.type)) return false;
  return entry.headersHelper === undefined && !hasAuthorization(entry);
}

/** Tests whether the entry has an `Authorization` header of its own. */
const hasAuthorization = ({ headers }: Pick<RemoteEntry, 'headers'>): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');

/** Tests whether requests to a server carry a credential. An IDE has a token of its own. */
const hasCredential = (entry: ServerEntry | undefined): entry is RemoteEntry =>
  entry !== undefined && 'url' in entry && (OAUTH_TYPES.has(entry.type) || entry.type === 'proxy');

export interface CredentialParts {
  /** Absent in tests of single servers: nothing is remembered then, and there is no OAuth. */
  readonly auth?: AuthParts | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly watchdog: Watchdog;
  /** The tokens of connectors, for entries of type `proxy`. */
  readonly connectors?: ConnectorTokens | undefined;
}

/** A credential, and the calls that the server refused with it. */
interface ServerCredential extends PreparedCredential {
  readonly calls: RefusedCalls;
  /** True for a credential of one caller. Repeated refusals show this caller the tool for signing in. */
  readonly isPerUser: boolean;
}

/** Returns the credential of a server for a caller; the same for all callers unless each has its own. */
export type CredentialOf = (caller?: Caller) => ServerCredential;

interface CredentialOptions extends CredentialParts {
  readonly server: string;
  readonly entry: RemoteEntry;
  readonly principal: string;
}

/** Plans the credentials of a server; undefined if requests to it carry none. */
export function credentialOf(
  server: string,
  entry: ServerEntry | undefined,
  parts: CredentialParts,
): CredentialOf | undefined {
  if (!hasCredential(entry)) return undefined;
  const opened = new BoundedMap<string, ServerCredential>(MAX_PRINCIPALS);
  const isPerUser = canSignIn(entry) && entry.oauth?.credentials === 'user';
  return (caller) => {
    const principal = isPerUser && caller ? vaultPrincipal(caller) : SHARED_PRINCIPAL;
    const credential = opened.get(principal) ?? lazyCredential({ ...parts, server, entry, principal });
    opened.set(principal, credential);
    return credential;
  };
}

/** Connects with the credential of the caller. The server learns of a refusal that no request of a call shows. */
export function connectWith(credentialFor: CredentialOf | undefined, connect: Connect): Connect {
  if (!credentialFor) return connect;
  return async (options) => {
    const { calls, isPerUser, ...credential } = credentialFor(options.caller);
    await credential.prepare(options.signal);
    const watched = watchRefusals(credential, options.onAuthNeeded);
    const connection = await connect({ ...options, credential: watched.credential });
    return {
      ...connection,
      send: (call) => calls.send(call, () => connection.send(call), isPerUser ? options.onAuthNeeded : undefined),
      async list(kind, signal) {
        const items = await connection.list(kind, signal);
        if (kind === 'tools') watched.opened();
        return items;
      },
    };
  };
}

/**
 * Reports refusals of a connection. Until its tools are listed, each means that the server needs a sign-in. From then on
 * a refused message fails alone.
 */
function watchRefusals(credential: PreparedCredential, onAuthNeeded: ConnectOptions['onAuthNeeded'] = () => {}) {
  let isOpen = false;
  const onRefused: PreparedCredential['onRefused'] = (refusal, signal) => {
    const isOfCall = refusal.isOfCall === true || (isOpen && refusal.isMessage === true);
    return credential.onRefused({ ...refusal, isOfCall }, signal).catch((thrown) => {
      if (isSignInNeeded(thrown)) onAuthNeeded(thrown);
      throw thrown;
    });
  };
  return {
    credential: { ...credential, onRefused },
    opened: () => {
      isOpen = true;
    },
  };
}

/** Loads the code of credentials when the entry or the store has one, or when the server refuses a request. */
function lazyCredential(options: CredentialOptions): ServerCredential {
  const { entry, auth, principal } = options;
  let loaded: PreparedCredential | undefined;
  let loading: Promise<PreparedCredential> | undefined;

  function load(): Promise<PreparedCredential> {
    loading ??= openKind(options).then(
      (credential) => {
        loaded = credential;
        return credential;
      },
      (thrown) => {
        loading = undefined;
        throw thrown;
      },
    );
    return loading;
  }

  async function isNeeded(): Promise<boolean> {
    if (loaded || hasOwnSource(entry)) return true;
    if (!auth) return false;
    if (await auth.signIns.refusal(entry.url, refusedPrincipal(principal, fingerprintOf(entry)))) return true;
    return canSignIn(entry) && (await auth.vault.find(entry.url, principal)) !== undefined;
  }

  const version = async () => (await loaded?.version()) ?? '';
  return {
    calls: refusedCalls({ clock: auth?.clock ?? Date.now, versionOf: version }),
    version,
    isPerUser: principal !== SHARED_PRINCIPAL,
    async prepare(signal) {
      if (await isNeeded()) await (await load()).prepare(signal);
    },
    refusal: async () => ((await isNeeded()) ? (await load()).refusal() : undefined),
    headersFor: (request) => loaded?.headersFor(request) ?? {},
    onRefused: async (refusal, signal) => (await load()).onRefused(refusal, signal),
    onAccepted: (headers, url) => loaded?.onAccepted?.(headers, url),
  };
}

/** Tests whether the credential comes from elsewhere than a sign-in or the entry's headers. */
const hasOwnSource = ({ type, headersHelper, oauth }: RemoteEntry): boolean =>
  type === 'proxy' ||
  headersHelper !== undefined ||
  oauth?.xaa === true ||
  (oauth?.grant !== undefined && oauth.grant !== 'authorization_code');

async function openKind(options: CredentialOptions): Promise<PreparedCredential> {
  const { server, entry, principal, auth } = options;
  const [kind, remembering] = await Promise.all([kindOf(options), import('../auth/remembering-credential.ts')]);
  if (!auth) return remembering.forgettingCredential(kind);
  const fingerprint = () => `${fingerprintOf(entry)}${kind.fingerprint?.() ?? ''}`;
  const vault = canSignIn(entry) ? newestGrants(entry, auth) : undefined;
  const { signIns, clock } = auth;
  const subject = { server, serverUrl: entry.url, principal, signIns, clock, vault };
  return remembering.rememberingCredential({ ...kind, fingerprint }, subject);
}

/** Finds the tokens that end a refusal: also a newer session at the identity provider, for a server with `oauth.xaa`. */
function newestGrants({ oauth }: RemoteEntry, { vault, xaa }: AuthParts): Pick<TokenVault, 'find'> {
  if (!oauth?.xaa) return vault;
  return {
    async find(serverUrl, principal) {
      const issuer = xaa?.()?.issuer;
      const own = await vault.find(serverUrl, principal);
      const session = issuer === undefined ? undefined : await vault.find(issuer, principal);
      return session && (own?.receivedAt ?? 0) < session.receivedAt ? session : own;
    },
  };
}

/** Returns the credential of the entry's kind. */
async function kindOf({ server, entry, principal, ...parts }: CredentialOptions): Promise<CredentialKind> {
  const { auth, env, watchdog, connectors } = parts;
  const { url, headersHelper: command } = entry;
  if (entry.type === 'proxy' && connectors) {
    const { connectorToken } = await import('../auth/headers/connector-token.ts');
    return connectorToken({ server, url, tokens: connectors });
  }
  if (command !== undefined) {
    const { headersHelper } = await import('../auth/headers/headers-helper.ts');
    return headersHelper({ server, url, command, env, watchdog });
  }
  if (!canSignIn(entry) || !auth) {
    const { writtenHeaders } = await import('../auth/headers/written-headers.ts');
    return writtenHeaders(server);
  }
  const { openCredential } = await import('../auth/open-credential.ts');
  return openCredential({ server, entry, principal }, auth);
}

/** Returns a hash of the written headers and of a machine's credentials; empty without them. A change ends a refusal. */
export function fingerprintOf({ headers, oauth }: Pick<RemoteEntry, 'headers' | 'oauth'>): string {
  const isMachine = oauth?.grant !== undefined && oauth.grant !== 'authorization_code';
  if (Object.keys(headers).length === 0 && !isMachine) return '';
  const text = canonicalJson({ headers, ...(isMachine && { oauth }) } as unknown as JsonObject);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
