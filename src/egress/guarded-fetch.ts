import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { HeddleError } from '../core/errors.ts';
import { type AddressKind, addressKind } from './address-kind.ts';
import { type AddressSource, allowedKinds } from './address-source.ts';
import { proxyFor } from './proxy-for.ts';

export interface GuardedFetchOptions {
  /** `GET`, if absent. */
  readonly method?: 'GET' | 'POST';
  /** The body of the request. With a body no redirect is followed: its status is returned. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** The origin of the address: it decides about private and loopback addresses. Without one, only public ones are used. */
  readonly source?: AddressSource;
  /** The variables that name a proxy. The proxy resolves names; literal addresses are checked all the same. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Returns all addresses of a host. */
  readonly resolve?: Resolve;
}

export interface GuardedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The address that responded: after redirects, the last one. */
  readonly url: string;
  /** The network of the host; `public` if its addresses belong to several, or if a proxy resolved its name. */
  readonly kind: AddressKind;
}

/** A request in a chain of redirects. */
export interface Hop {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly allowed: ReadonlySet<AddressKind>;
}

const TIMEOUT_MS = 5000;
const MAX_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Fetches a document from an untrusted URL: only https and public addresses, with limits of size and time. */
export async function guardedFetch(address: string, options: GuardedFetchOptions = {}): Promise<GuardedResponse> {
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  const first = firstHop(address, options);
  try {
    return await follow(first, options, signal);
  } catch (thrown) {
    if (HeddleError.is(thrown)) throw thrown;
    const { host } = first.url;
    if (options.signal?.aborted) throw new HeddleError('CALL_CANCELLED', `The fetch from ${host} was cancelled.`);
    if (timeout.aborted) throw new HeddleError('UPSTREAM_TIMEOUT', `${host} did not answer in time.`);
    const fix = 'Check the address and the network.';
    const message = `${host} cannot be reached (${codeOf(thrown)}).`;
    throw new HeddleError('UPSTREAM_UNREACHABLE', message, { fix, cause: thrown });
  }
}

async function follow(first: Hop, options: GuardedFetchOptions, signal: AbortSignal): Promise<GuardedResponse> {
  const { resolve = resolveAll, maxBytes = MAX_BYTES, method = 'GET', body, env = process.env } = options;
  let hop = first;
  for (let redirects = 0; ; redirects++) {
    const proxy = proxyFor(hop.url, env);
    const addresses = await findAddresses(hop.url, proxy === undefined ? resolve : undefined, signal);
    const kinds = checkedKinds(hop, addresses);
    const route = proxy === undefined ? { addresses } : { proxy };
    const answer = await sendRequest(hop, route, { signal, maxBytes, method, body });
    if (typeof answer !== 'string') return { ...answer, url: hop.url.href, kind: soleKind(kinds) };
    if (redirects === MAX_REDIRECTS) throw refused(hop.url, `redirects more than ${MAX_REDIRECTS} times`);
    hop = redirected({ ...hop, allowed: kinds }, answer);
  }
}

function firstHop(address: string, { headers = {}, source }: GuardedFetchOptions): Hop {
  if (!URL.canParse(address)) {
    throw new HeddleError('UPSTREAM_UNREACHABLE', 'The address to fetch from is not a URL.', {
      fix: 'Write a whole URL, such as `https://example.com/file`.',
    });
  }
  const url = checkedUrl(new URL(address));
  return { url, headers, allowed: source ? allowedKinds(url, source) : new Set<AddressKind>(['public']) };
}

/**
 * Returns the next request of a redirect. A public address never redirects to a private one, nor https to http.
 * Another origin receives none of the caller's headers, because any of them may be a credential.
 */
export function redirected({ url, headers, allowed }: Hop, location: string): Hop {
  if (!URL.canParse(location, url.href)) throw refused(url, 'redirects to something that is not a URL');
  const next = checkedUrl(new URL(location, url));
  if (url.protocol === 'https:' && next.protocol !== 'https:') throw refused(url, 'redirects from https to http');
  return { url: next, headers: next.origin === url.origin ? headers : {}, allowed: new Set(['public', ...allowed]) };
}

function checkedUrl(url: URL): URL {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refused(url, `is not https but ${url.protocol}`);
  if (url.username !== '' || url.password !== '') throw refused(url, 'has a password in its address');
  return url;
}

type Resolve = (host: string) => Promise<readonly string[]>;

/** Returns the addresses of a host. A name has none without `resolve`: the proxy looks it up. */
async function findAddresses(url: URL, resolve: Resolve | undefined, signal: AbortSignal): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host)) return [host];
  if (!resolve) return [];
  const addresses = await until(signal, resolve(host));
  if (addresses.length === 0) throw refused(url, 'has no address');
  return addresses;
}

/** Returns the networks of the addresses. Every one must be allowed, because a later attempt could use any of them. */
function checkedKinds({ url, allowed }: Hop, addresses: readonly string[]): ReadonlySet<AddressKind> {
  const kinds = new Set<AddressKind>(addresses.length === 0 ? ['public'] : addresses.map(addressKind));
  for (const kind of kinds) {
    if (!allowed.has(kind)) throw refused(url, `is at ${PLACES[kind]}`);
    if (url.protocol === 'http:' && kind !== 'loopback') throw refused(url, 'is not https');
  }
  return kinds;
}

const soleKind = (kinds: ReadonlySet<AddressKind>): AddressKind =>
  (kinds.size === 1 ? [...kinds][0] : undefined) ?? 'public';

const PLACES: Readonly<Record<AddressKind, string>> = {
  public: 'a public address',
  loopback: 'an address of this machine',
  private: 'an address of a private network',
  refused: 'a special address',
};

const resolveAll = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);

// A DNS lookup cannot be cancelled.
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

interface Exchange {
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly method: 'GET' | 'POST';
  readonly body: string | undefined;
}

/** The way to a host: its checked addresses, or a proxy. */
type Route = { readonly addresses: readonly string[] } | { readonly proxy: string };

/** Opens the dispatcher of one request. Its sockets use the checked addresses: a second lookup could return others. */
async function openAgent(route: Route): Promise<Dispatcher> {
  if ('proxy' in route) return (await import('./proxy-agent.ts')).openProxyAgent(route.proxy);
  const { Agent } = await import('undici');
  return new Agent({ connect: { lookup: pinned(route.addresses) } });
}

/** Sends the request. Returns the response or the `Location` of a redirect. */
async function sendRequest(
  hop: Hop,
  route: Route,
  exchange: Exchange,
): Promise<Omit<GuardedResponse, 'url' | 'kind'> | string> {
  const { request } = await import('undici');
  const agent = await openAgent(route);
  try {
    const { signal, method, body = null } = exchange;
    const headers = { ...hop.headers, 'accept-encoding': 'identity' };
    const answer = await request(hop.url, { dispatcher: agent, headers, signal, method, body });
    const plain = plainHeaders(answer.headers);
    const isRedirect = body === null && REDIRECTS.has(answer.statusCode);
    if (isRedirect && plain.location !== undefined) return plain.location;
    if ((plain['content-encoding'] ?? 'identity') !== 'identity') throw refused(hop.url, 'answers compressed');
    return { status: answer.statusCode, headers: plain, body: await bodyOf(answer, hop.url, exchange.maxBytes) };
  } finally {
    await agent.destroy();
  }
}

function pinned(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, { all }, callback) => {
    if (all) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}

function plainHeaders(headers: Dispatcher.ResponseData['headers']): Readonly<Record<string, string>> {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

async function bodyOf({ body }: Dispatcher.ResponseData, url: URL, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw refused(url, `answers with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refused(url: URL, reason: string): HeddleError {
  return new HeddleError(
    'UPSTREAM_UNREACHABLE',
    `${url.host || url.protocol} ${reason}, so nothing is fetched from it.`,
    {
      fix: 'Use an https address that can be reached publicly and answers directly.',
      details: { refused: reason },
    },
  );
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no reason given';
}
