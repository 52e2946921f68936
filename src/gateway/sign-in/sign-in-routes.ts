import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Caller } from '../../core/call.ts';
import { addressKind } from '../../egress/address-kind.ts';
import type { Heddle } from '../../heddle.ts';
import type { Authenticate } from '../auth/authenticate.ts';
import { sendJson } from '../response-writer.ts';
import { serveCallback } from './callback.ts';
import { CALLBACK_PATH, CLIENT_DOCUMENT_PATH, clientDocument } from './client-document.ts';
import { CONNECT_PATH, serveConnectPage } from './connect-page.ts';
import type { SignInSite } from './sign-in-site.ts';

export interface SignInRoutesOptions {
  readonly heddle: Pick<Heddle, 'signIns' | 'browserSignIns' | 'access'>;
  readonly authenticate: Authenticate;
  /** The URL at which the gateway listens, once it listens. */
  readonly listeningUrl: () => string;
  readonly onSignedIn: (caller: Caller, server: string) => void;
  /** Aborts when the gateway closes. */
  readonly closing: AbortSignal;
}

export interface SignInRoutes {
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The address of the pages for browsers; undefined if other machines are served and `publicUrl` is not set. */
  pages(): string | undefined;
}

/** Serves the pages of sign-ins and the client metadata document. They need no credential of the gateway. */
export function signInRoutes(options: SignInRoutesOptions): SignInRoutes {
  const { heddle, authenticate, listeningUrl, onSignedIn, closing } = options;
  const { signIns, browserSignIns, access } = heddle;
  const base = () => (access.settings().gateway.publicUrl ?? new URL(listeningUrl()).origin).replace(/\/+$/, '');
  const isLoopback = (url: string) => {
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    return host === 'localhost' || addressKind(host) === 'loopback';
  };
  const site: SignInSite = {
    signIns,
    browserSignIns,
    base,
    settings: () => access.settings(),
    isSecure: () => base().startsWith('https:'),
    // Behind a proxy the gateway listens on loopback too, but its users are elsewhere.
    isLocal: () => isLoopback(listeningUrl()) && isLoopback(base()),
    async isCredentialOf({ id }, credential) {
      const found = await authenticate({
        method: 'POST',
        url: '/',
        headers: { authorization: `Bearer ${credential}` },
      });
      return found !== undefined && 'id' in found && found.id === id;
    },
    refused: (caller, server, reason) =>
      access.refused(caller, { callId: randomUUID(), name: `sign-in to ${server}`, reason }),
    onSignedIn,
  };

  return {
    pages: () => (access.settings().gateway.publicUrl !== undefined || isLoopback(listeningUrl()) ? base() : undefined),
    async handle(request, response) {
      const path = signInPathOf((request.url ?? '/').split('?', 1)[0] ?? '/', base()) ?? '';
      const signal = AbortSignal.any([closing, closedSignal(response)]);
      if (path === CLIENT_DOCUMENT_PATH) return sendJson(response, { status: 200, body: clientDocument(base()) });
      if (path === CALLBACK_PATH) return serveCallback(site, { request, response, signal });
      return serveConnectPage(site, path.slice(CONNECT_PATH.length), { request, response, signal });
    },
  };
}

/** Returns a signal that aborts when the browser disconnects. */
function closedSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  return closed.signal;
}

/** Returns the path of a sign-in page without the path of `publicUrl`; undefined for other paths. */
export function signInPathOf(path: string, publicUrl: string | undefined): string | undefined {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  const rest = prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  const isPage = rest === CLIENT_DOCUMENT_PATH || rest === CALLBACK_PATH || rest.startsWith(CONNECT_PATH);
  return isPage ? rest : undefined;
}
