import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { SignInTicket } from '../../core/records/sign-in.ts';
import { clearCookie, readCookie } from './browser-cookie.ts';
import { goToAuthorizationServer, sendFailure } from './connect-page.ts';
import { sendPage } from './html-page.ts';
import { identificationOf } from './identification.ts';
import type { SignInSite } from './sign-in-site.ts';

const MAX_QUERY_CHARS = 16 * 1024;
const MAX_STATE_CHARS = 512;
const OTHER_BROWSER = {
  status: 403,
  title: 'Not signed in',
  text: [
    'This browser did not begin this sign-in, or the sign-in is over. Nothing was stored.',
    'If a link to the sign-in was sent to you, do not use it: another person’s caller would act with your account.',
  ],
};

interface Callback {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** Serves `/oauth/callback`. Only the browser that began the sign-in has its cookie. Any replica may receive it. */
export async function serveCallback(site: SignInSite, { request, response, signal }: Callback): Promise<void> {
  if (request.method !== 'GET') return sendPage(response, { status: 405, title: 'Only GET', text: [] });
  const query = (request.url ?? '').split('?').slice(1).join('?');
  const states = new URLSearchParams(query.slice(0, MAX_QUERY_CHARS)).getAll('state');
  const [state = ''] = states;
  if (states.length !== 1 || state.length > MAX_STATE_CHARS || query.length > MAX_QUERY_CHARS) {
    return sendPage(response, { ...OTHER_BROWSER, status: 400 });
  }
  const cookie = { state, isSecure: site.isSecure() };
  const value = readCookie(request, cookie);
  const begun = value === undefined ? undefined : await site.browserSignIns.read(value);
  if (value === undefined || begun?.facts.state !== state) return sendPage(response, OTHER_BROWSER);
  const ticket = await site.browserSignIns.take(value);
  if (!ticket) return sendPage(response, OTHER_BROWSER);
  const headers = { 'set-cookie': clearCookie(cookie) };
  try {
    if (ticket.facts.kind === 'identify') return await identify(site, ticket, { query, response, signal });
    const { caller, server } = ticket;
    await site.signIns.finish(caller, server, { query, state, isAtPage: true, signal });
    site.onSignedIn(caller, server);
    const text = [`Heddle is signed in to ${server} for ${caller.id}. You can close this window.`];
    sendPage(response, { status: 200, headers, title: 'Signed in', text });
  } catch (thrown) {
    sendFailure(response, thrown, headers);
  }
}

interface IdentifyingRedirect {
  readonly query: string;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** Compares the person at the browser with the caller of the ticket, then goes on to the authorization server. */
async function identify(
  site: SignInSite,
  { caller, server, facts }: SignInTicket,
  { query, response, signal }: IdentifyingRedirect,
): Promise<void> {
  const begun = isObject(facts.facts) ? facts.facts : {};
  const how = identificationOf(caller, site.settings(), site.isLocal());
  const secret = how.kind === 'oidc' && how.clientSecret !== undefined ? { clientSecret: how.clientSecret } : {};
  const redirect = { facts: begun, query, signal, ...secret };
  const { issuer, subject } = await site.browserSignIns.finishIdentification(redirect);
  if (`${issuer}#${subject}` !== caller.id) {
    site.refused(caller, server, 'another person signed in at the issuer');
    const message = `You are signed in at ${issuer} as another subject than ${caller.id}, so this link is not for you.`;
    throw new HeddleError('AUTH_REFUSED', message, {
      fix: 'Sign in there as that user. If you are that user, the issuer gives each client another `sub`: the operator has to turn pairwise subjects off for `gateway.auth.clientId`.',
    });
  }
  await goToAuthorizationServer(site, String(facts.connect), { response, signal });
}
