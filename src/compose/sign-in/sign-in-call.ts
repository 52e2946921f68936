import { ownerOf, userKey } from '../../core/call/private-user.ts';
import type { Handler, ResolvedCall } from '../../core/call.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import type { Servers } from '../../upstream/servers.ts';
import type { SignInUrl } from '../heddle-options.ts';

export interface SignInCallOptions {
  readonly servers: Pick<Servers, 'signedIn'>;
  readonly signInUrl?: SignInUrl | undefined;
}

// The lifetime of a sign-in.
const WATCH_MS = 600_000;

/**
 * Runs the tool `sign_in` of a server with per-user credentials: returns the address of the sign-in. The server's own
 * tools take its place as soon as the caller has signed in.
 */
export function signInCall({ servers, signInUrl }: SignInCallOptions): Handler<ResolvedCall> {
  const watched = new Set<string>();

  /** Waits for the tokens, which another process may get: the list of tools changes when they are stored. */
  async function watch(server: string, call: ResolvedCall): Promise<void> {
    const key = `${server} ${userKey(ownerOf(call))}`;
    if (watched.has(key)) return; // A model may call the tool any number of times.
    watched.add(key);
    await servers.signedIn(server, call, AbortSignal.timeout(WATCH_MS)).catch(() => {});
    watched.delete(key);
  }

  return async function signIn(call) {
    const startedAt = performance.now();
    const [server] = call.target.servers;
    const url = await signInUrl?.(server, call.caller, call.signal);
    void watch(server, call);
    const text = url === undefined ? commandAdvice(server) : urlAdvice(server, url);
    const value = { content: [{ type: 'text', text }], ...(url !== undefined && { structuredContent: { url } }) };
    const provenance = { server, attempts: 1, latencyMs: performance.now() - startedAt };
    return { kind: 'complete', value, isError: false, provenance };
  };
}

const urlAdvice = (server: string, url: string) =>
  `Open this address in a browser to sign in to ${server}: ${url}\nThe tools of ${server} are listed after the sign-in.`;

const commandAdvice = (server: string) =>
  `Run \`${quoteCommand(['heddle', 'auth', 'login', server])}\` in a terminal to sign in to ${server}.`;
