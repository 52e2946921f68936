import type { IncomingMessage, ServerResponse } from 'node:http';
import { HeddleError } from '../../core/errors.ts';
import type { SignInTicket } from '../../core/records/sign-in.ts';
import { setCookie } from './browser-cookie.ts';
import { CALLBACK_PATH } from './client-document.ts';
import { type PageForm, sendPage, sendRedirect } from './html-page.ts';
import { type Identification, identificationOf } from './identification.ts';
import { readFormBody } from './read-form-body.ts';
import type { SignInSite } from './sign-in-site.ts';

export const CONNECT_PATH = '/connect/';
const GONE = {
  status: 404,
  title: 'This link no longer works',
  text: ['It was used already, or it is older than 10 minutes. Call the tool again to get a new link.'],
};

interface PageRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly signal: AbortSignal;
}

/** Serves `/connect/<ticket>`: GET shows what would be connected, POST identifies the person and goes on. */
export async function serveConnectPage(site: SignInSite, id: string, page: PageRequest): Promise<void> {
  const { request, response } = page;
  const ticket = await site.browserSignIns.read(id);
  if (ticket?.facts.kind !== 'connect') return sendPage(response, GONE);
  const how = identificationOf(ticket.caller, site.settings(), site.isLocal());
  if (request.method === 'POST') return continueSignIn(site, { id, ticket, how }, page);
  if (request.method !== 'GET') return sendPage(response, { status: 405, title: 'Only GET and POST', text: [] });
  return showTicket(site, ticket, { ...page, how });
}

async function showTicket(
  { browserSignIns }: SignInSite,
  { caller, server }: SignInTicket,
  {
    response,
    signal,
    how,
    status = 200,
    notice,
  }: Omit<PageRequest, 'request'> & {
    readonly how: Identification;
    readonly status?: number;
    readonly notice?: string;
  },
): Promise<void> {
  try {
    const { url, issuer, scopes } = await browserSignIns.preview(caller, server, signal);
    sendPage(response, {
      status,
      title: `Connect ${server}`,
      rows: [
        ['Server', `${server} (${url})`],
        ['Sign-in at', issuer],
        ['Scopes', scopes.length > 0 ? scopes.join(' ') : 'the default of the server'],
        ['Caller', caller.id],
      ],
      text: [
        ...(notice === undefined ? [] : [notice]),
        'Heddle will call this server with your account there. Go on only if you started this yourself, as this caller.',
        ...(how.kind === 'impossible' ? [how.reason] : []),
      ],
      ...(how.kind !== 'impossible' && { form: formFor(how) }),
    });
  } catch (thrown) {
    sendFailure(response, thrown);
  }
}

function formFor(how: Exclude<Identification, { kind: 'impossible' }>): PageForm {
  if (how.kind === 'credential') return { credential: how.label, button: 'Continue' };
  return { button: how.kind === 'oidc' ? 'Identify yourself and continue' : 'Continue' };
}

interface OpenTicket {
  readonly id: string;
  readonly ticket: SignInTicket;
  readonly how: Identification;
}

async function continueSignIn(site: SignInSite, open: OpenTicket, page: PageRequest): Promise<void> {
  const { id, ticket, how } = open;
  const { request, response, signal } = page;
  try {
    if (how.kind === 'impossible') return await showTicket(site, ticket, { ...page, how, status: 403 });
    if (how.kind === 'oidc') return await identifyFirst(site, { id, ticket, how }, page);
    if (how.kind === 'credential') {
      const form = await readFormBody(request);
      if (!(await site.isCredentialOf(ticket.caller, form?.get('credential') ?? ''))) {
        site.refused(ticket.caller, ticket.server, 'another credential was typed in');
        const notice = `This is not the credential of ${ticket.caller.id}. If you do not have it, this link is not for you.`;
        return await showTicket(site, ticket, { ...page, how, status: 403, notice });
      }
    }
    await goToAuthorizationServer(site, id, { response, signal });
  } catch (thrown) {
    sendFailure(response, thrown);
  }
}

/** Sends the browser to the issuer of the caller's tokens. The ticket is not used yet. */
async function identifyFirst(
  { browserSignIns, base, isSecure }: SignInSite,
  { id, ticket, how }: OpenTicket & { readonly how: Extract<Identification, { kind: 'oidc' }> },
  { response, signal }: PageRequest,
): Promise<void> {
  const { kind: _, ...client } = how;
  const begun = await browserSignIns.beginIdentification({
    ...client,
    redirectUri: `${base()}${CALLBACK_PATH}`,
    signal,
  });
  const { url, state, facts } = begun;
  const value = await browserSignIns.issue(ticket.caller, ticket.server, {
    kind: 'identify',
    state,
    connect: id,
    facts,
  });
  sendRedirect(response, url, { 'set-cookie': setCookie({ state, isSecure: isSecure() }, value) });
}

/** Uses the ticket up and sends the identified person to the authorization server of the MCP server. */
export async function goToAuthorizationServer(
  { browserSignIns, signIns, base, isSecure }: SignInSite,
  id: string,
  { response, signal }: Pick<PageRequest, 'response' | 'signal'>,
): Promise<void> {
  const ticket = await browserSignIns.read(id);
  if (ticket?.facts.kind !== 'connect') return sendPage(response, GONE);
  const { caller, server } = ticket;
  // The ticket is used after the sign-in has begun, so that it survives an authorization server that is down.
  const redirect = `${base()}${CALLBACK_PATH}`;
  const { url, state } = await signIns.begin(caller, server, { redirect, isAtPage: true, signal });
  if (!(await browserSignIns.take(id))) {
    await signIns.cancel(caller, server, state);
    return sendPage(response, GONE);
  }
  const value = await browserSignIns.issue(caller, server, { kind: 'callback', state });
  sendRedirect(response, url, { 'set-cookie': setCookie({ state, isSecure: isSecure() }, value) });
}

/** Shows an error. Its message names what failed; it contains no secret. */
export function sendFailure(response: ServerResponse, thrown: unknown, headers = {}): void {
  const { code, message, fix } = HeddleError.from(thrown);
  const status = code === 'UPSTREAM_UNREACHABLE' || code === 'UPSTREAM_TIMEOUT' ? 502 : 400;
  sendPage(response, { status, headers, title: 'Not signed in', text: [message, ...(fix ? [fix] : []), `(${code})`] });
}
