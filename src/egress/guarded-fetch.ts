import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import { HeddleError } from '../core/errors.ts';
import { type AddressKind, addressKind } from './address-kind.ts';
import { type AddressSource, allowedKinds } from './address-source.ts';

export interface GuardedFetchOptions {
  /** `GET`, if absent. */
  readonly method?: 'GET' | 'POST';
  /** The body of the request. With a body no redirect is followed: its status is returned. */
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Allows loopback addresses, also over plain http. */
  readonly allowLoopback?: boolean;
  /** Allows private addresses. Set it only for a URL that a user wrote. */
  readonly allowPrivate?: boolean;
  /** The origin of the address. It replaces `allowLoopback` and `allowPrivate`. */
  readonly source?: AddressSource;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  /** Returns all addresses of a host. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
}

export interface GuardedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The network of the host; `public` if its addresses belong to several. */
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
  const { resolve = resolveAll, maxBytes = MAX_BYTES, method = 'GET', body } = options;
  let hop = first;
  for (let redirects = 0; ; redirects++) {
    const addresses = await checkedAddresses(hop, resolve, signal);
    const answer = await sendRequest(hop, addresses, { signal, maxBytes, method, body });
    if (typeof answer !== 'string') return answer;
    if (redirects === MAX_REDIRECTS) throw refused(hop.url, `redirects more than ${MAX_REDIRECTS} times`);
    hop = redirected({ ...hop, allowed: new Set(addresses.map(addressKind)) }, answer);
  }
}

function firstHop(address: string, { headers = {}, allowLoopback, allowPrivate, source }: GuardedFetchOptions): Hop {
  if (!URL.canParse(address)) {
    throw new HeddleError('UPSTREAM_UNREACHABLE', 'The address to fetch from is not a URL.', {
      fix: 'Write a whole URL, such as `https://example.com/file`.',
    });
  }
  if (source) return { url: checkedUrl(new URL(address)), headers, allowed: allowedKinds(new URL(address), source) };
  const allowed = new Set<AddressKind>(['public']);
  if (allowLoopback) allowed.add('loopback');
  if (allowPrivate) allowed.add('private');
  return { url: checkedUrl(new URL(address)), headers, allowed };
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

/** Resolves the host. Every address must be allowed, because a later attempt could use any of them. */
async function checkedAddresses(
  { url, allowed }: Hop,
  resolve: (host: string) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = isIP(host) ? [host] : await until(signal, resolve(host));
  if (addresses.length === 0) throw refused(url, 'has no address');
  for (const kind of addresses.map(addressKind)) {
    if (!allowed.has(kind)) throw refused(url, `is at ${PLACES[kind]}`);
    if (url.protocol === 'http:' && kind !== 'loopback') throw refused(url, 'is not https');
  }
  return addresses;
}

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

/** Sends the request. Returns the response or the `Location` of a redirect. */
async function sendRequest(
  hop: Hop,
  addresses: readonly string[],
  exchange: Exchange,
): Promise<GuardedResponse | string> {
  const { Agent, request } = await import('undici');
  // The sockets use the checked addresses. A second lookup could return others.
  const agent = new Agent({ connect: { lookup: pinned(addresses) } });
  try {
    const { signal, method, body = null } = exchange;
    const headers = { ...hop.headers, 'accept-encoding': 'identity' };
    const answer = await request(hop.url, { dispatcher: agent, headers, signal, method, body });
    const plain = plainHeaders(answer.headers);
    const isRedirect = body === null && REDIRECTS.has(answer.statusCode);
    if (isRedirect && plain.location !== undefined) return plain.location;
    if ((plain['content-encoding'] ?? 'identity') !== 'identity') throw refused(hop.url, 'answers compressed');
    const kinds = new Set(addresses.map(addressKind));
    const kind = kinds.size === 1 ? addressKind(addresses[0] ?? '') : 'public';
    return { status: answer.statusCode, headers: plain, body: await bodyOf(answer, hop.url, exchange.maxBytes), kind };
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
