import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { RedirectNeed } from '../../core/records/sign-in.ts';
import { type CallbackPage, callbackPage } from './callback-page.ts';

/** The redirect of a browser that arrived at the listener. */
export interface ReceivedRedirect {
  /** The query, without `?`. */
  readonly query: string;
  /** Shows the end of the sign-in in the browser. */
  respond(page: CallbackPage): void;
}

/** Receives the redirect of one sign-in on the loopback interface. */
export interface LoopbackListener {
  readonly redirectUri: string;
  /** Resolves with the first GET request that has the right path, `Host` and `state`. All other requests are refused. */
  receive(state: string): Promise<ReceivedRedirect>;
  close(): Promise<void>;
}

const PATH = '/callback';
/** Other programs may hold a port on ::1 that is free on 127.0.0.1. */
const ATTEMPTS = 8;
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 16;

/** Listens on 127.0.0.1, and on ::1 if the machine has it. Returns undefined if the wanted port is taken. */
export async function openLoopbackListener({ host, port }: RedirectNeed): Promise<LoopbackListener | undefined> {
  const redirect = receiver();
  for (let attempt = 0; attempt < (port === undefined ? ATTEMPTS : 1); attempt++) {
    const servers = await bindBoth(redirect.handle, port ?? 0);
    if (!servers) continue;
    const authority = `${host}:${portOf(servers[0])}`;
    redirect.expectHost(authority);
    return {
      redirectUri: `http://${authority}${PATH}`,
      receive: redirect.receive,
      close: async () => {
        redirect.close();
        await Promise.all(servers.map(closeServer));
      },
    };
  }
  return undefined;
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** Checks the requests. Only one of them is received. */
function receiver() {
  const received = Promise.withResolvers<ReceivedRedirect>();
  let authority = '';
  let expected: Buffer | undefined;
  let isUsed = false;
  let unanswered: ServerResponse | undefined;

  /** Returns the refusal of a request: its status and the reason. */
  function refusalOf({ url = '', headers, method }: IncomingMessage): readonly [number, string] | undefined {
    const [path, query = ''] = splitOnce(url, '?');
    if (headers.host !== authority) return [421, 'The Host header names another server.'];
    if (path !== PATH) return [404, 'There is nothing at this address.'];
    if (method !== 'GET') return [405, 'Only GET is allowed.'];
    const states = new URLSearchParams(query).getAll('state');
    const [state = ''] = states;
    if (states.length !== 1 || !expected || !timingSafeEqual(digest(state), expected)) {
      return [400, 'This redirect belongs to no sign-in that is in progress here.'];
    }
    return isUsed ? [410, 'This redirect has been used.'] : undefined;
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const refusal = refusalOf(request);
    if (refusal) {
      const [status, text] = refusal;
      send(response, status, { title: 'Refused', text });
      return;
    }
    isUsed = true;
    unanswered = response;
    const [, query = ''] = splitOnce(request.url ?? '', '?');
    received.resolve({ query, respond: (page) => send(response, 200, page) });
  }

  return {
    handle,
    expectHost(value: string) {
      authority = value;
    },
    receive(state: string) {
      expected = digest(state);
      return received.promise;
    },
    close() {
      if (unanswered && !unanswered.writableEnded) send(unanswered, 200, UNFINISHED);
    },
  };
}

const UNFINISHED: CallbackPage = { title: 'Not signed in', text: 'The sign-in was not completed.' };

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function send(response: ServerResponse, status: number, page: CallbackPage): void {
  response
    .writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    })
    .end(callbackPage(page));
}

/** Binds one port on both loopback addresses; undefined if it is taken on one of them. */
async function bindBoth(handle: Handle, port: number): Promise<readonly [Server, ...Server[]] | undefined> {
  const first = await bind(handle, '127.0.0.1', port);
  if (first === 'taken' || first === 'unavailable') return undefined;
  const second = await bind(handle, '::1', portOf(first));
  if (second === 'unavailable') return [first];
  if (second !== 'taken') return [first, second];
  await closeServer(first);
  return undefined;
}

const TAKEN = new Set(['EADDRINUSE', 'EACCES']);
const UNAVAILABLE = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']);

function bind(handle: Handle, host: string, port: number): Promise<Server | 'taken' | 'unavailable'> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS }, handle);
  server.maxConnections = MAX_CONNECTIONS;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (TAKEN.has(error.code ?? '')) resolve('taken');
      else if (UNAVAILABLE.has(error.code ?? '')) resolve('unavailable');
      else reject(error);
    });
    server.listen({ host, port, exclusive: true, ipv6Only: true }, () => resolve(server));
  });
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

/** Ends a server. Responses that were written are sent first. */
const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), LINGER_MS).unref();
  });

/** The time for a browser to read the last page. */
const LINGER_MS = 500;
