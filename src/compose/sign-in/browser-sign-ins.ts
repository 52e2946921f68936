import { randomBytes } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { Caller, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { BrowserSignIns, SignInTicket } from '../../core/records/sign-in.ts';
import { hidesServer } from '../../govern/decide.ts';
import type { ConnectTicket, SignInBook } from '../../store/sign-in-book.ts';
import { refusedPrincipal } from '../../store/sign-in-book.ts';
import type { AuthParts } from '../../upstream/auth/auth-parts.ts';
import { fingerprintOf } from '../../upstream/lifecycle/credential-of.ts';
import { whyNotConnectable } from '../../upstream/lifecycle/plan-server.ts';
import type { ActiveConfig } from '../active-config.ts';

export interface BrowserSignInsOptions {
  readonly active: () => Pick<ActiveConfig, 'configs' | 'policy'>;
  readonly auth: AuthParts;
}

const TICKET_MS = 10 * 60_000;
// A page that is returned again is valid for at least this long.
const REUSED_MS = 5 * 60_000;
const MAX_REUSED = 1000;
const TICKET_BYTES = 32;

/** Returns the sign-ins of the gateway's pages. `auth` and its protocol are loaded on first use. */
export function browserSignIns({ active, auth }: BrowserSignInsOptions): BrowserSignIns {
  let pages: () => string | undefined = () => undefined;
  const book: SignInBook = auth.signIns;

  /** Returns the entry of a server whose credentials belong to each caller; undefined for others. */
  const entryFor = (by: Caller, server: string) => {
    const { configs, policy } = active();
    const config = hidesServer(policy, by, server) ? undefined : configs.get(server);
    const entry = config && !whyNotConnectable(config) ? config.entry : undefined;
    return entry && 'url' in entry && entry.oauth?.credentials === 'user' ? entry : undefined;
  };

  const { issue, connectTicket } = tickets(auth);

  return {
    serveAt(base) {
      pages = base;
      return () => {
        if (pages === base) pages = () => undefined;
      };
    },
    async pageFor(by, server) {
      const base = pages();
      if (base === undefined || !entryFor(by, server)) return undefined;
      return `${base}/connect/${await connectTicket(by, server)}`;
    },
    async isSignedIn(by, server) {
      const entry = entryFor(by, server);
      const principal = vaultPrincipal(by);
      if (!entry) return false;
      const refusal = await book.refusal(entry.url, refusedPrincipal(principal, fingerprintOf(entry)));
      const labels = (await auth.vault.labels()).filter(
        ({ serverUrl, unknownKey }) => serverUrl === entry.url && unknownKey === undefined,
      );
      // Tokens that were received after a refusal end it.
      return labels.some((one) => one.principal === principal && (!refusal || one.receivedAt >= refusal.at));
    },
    async preview(by, server, signal) {
      const entry = entryFor(by, server);
      if (!entry) throw new HeddleError('NAME_UNKNOWN', `No server named ${server} needs a sign-in of this caller.`);
      const { previewSignIn } = await import('../../upstream/auth/sign-in/preview-sign-in.ts');
      const target = { server, serverUrl: entry.url, oauth: entry.oauth, principal: vaultPrincipal(by) };
      return previewSignIn(auth, { target, signal });
    },
    issue,
    read: async (ticket) => toTicket(await book.readTicket(ticket)),
    take: async (ticket) => toTicket(await book.takeTicket(ticket)),
    async beginIdentification(client) {
      const { beginIdentification } = await import('../../upstream/auth/grants/identification.ts');
      return beginIdentification(auth, client);
    },
    async finishIdentification(redirect) {
      const { finishIdentification } = await import('../../upstream/auth/grants/identification.ts');
      return finishIdentification(auth, redirect);
    },
  };
}

/** Issues tickets, which are stored for 10 minutes. */
function tickets({ signIns: book, clock }: Pick<AuthParts, 'signIns' | 'clock'>) {
  async function issue(by: Caller, server: string, facts: JsonObject): Promise<string> {
    const ticket = randomBytes(TICKET_BYTES).toString('base64url');
    const { id, roles, via, profile } = by;
    const caller: JsonObject = { id, roles, via, ...(profile !== undefined && { profile }) };
    const expiresAt = clock() + TICKET_MS;
    await book.issueTicket({ ticket, server, principal: vaultPrincipal(by), expiresAt, extra: { caller, facts } });
    return ticket;
  }

  const reused = new BoundedMap<string, { readonly ticket: string; readonly until: number }>(MAX_REUSED);

  /** Returns the unused ticket of an earlier call, so that repeated calls do not fill the store. */
  async function connectTicket(by: Caller, server: string): Promise<string> {
    const key = JSON.stringify([by.id, by.roles, by.via, by.profile, server]);
    const known = reused.get(key);
    if (known && clock() < known.until && (await book.readTicket(known.ticket))) return known.ticket;
    const ticket = await issue(by, server, { kind: 'connect' });
    reused.set(key, { ticket, until: clock() + TICKET_MS - REUSED_MS });
    return ticket;
  }

  return { issue, connectTicket };
}

function toTicket(found: ConnectTicket | undefined): SignInTicket | undefined {
  const { caller, facts } = found?.extra ?? {};
  if (!found || !isObject(caller) || !isObject(facts)) return undefined;
  return { server: found.server, caller: caller as unknown as Caller, facts };
}
