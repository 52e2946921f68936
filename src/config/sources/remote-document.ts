import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Clock } from '../../core/time.ts';
import { type GuardedResponse, guardedFetch } from '../../egress/guarded-fetch.ts';
import { replaceFile } from '../../files/edit-file.ts';
import type { Problem } from '../config.ts';

/** Options for fetching and caching remote documents. */
export interface Remote {
  /** Heddle's folder of this user. */
  readonly home: string;
  /** Names the proxy. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface RemoteRequest {
  readonly url: string;
  readonly token?: string;
  /** Returns the defect of a response body ("is not JSON"); undefined if it can be used. */
  readonly validate: (text: string) => string | undefined;
}

export interface RemoteDocument {
  /** The last good response body; absent if there was none. */
  readonly text?: string;
  /** The reason why the last fetch failed. */
  readonly failure?: Failure;
  /** Resolves to true if the fetch in the background brings another body. Never rejects. */
  readonly refreshed: Promise<boolean>;
}

interface Failure {
  readonly code: Problem['code'];
  readonly message: string;
}

/** The content of a cache file. */
interface CachedDocument {
  readonly text: string;
  readonly etag?: string;
  readonly askedAt: number;
  readonly failure?: string;
}

const UNREACHABLE = 'UPSTREAM_UNREACHABLE';
const NOTHING_NEW = Promise.resolve(false);
// Limits the requests of commands that run in a loop.
const REFRESH_AFTER_MS = 60_000;

/**
 * Returns a document from a configured address. A cached document is returned at once and fetched again in the
 * background if it is older than 60 s, so only the first call waits for the network.
 */
export async function remoteDocument(request: RemoteRequest, remote: Remote): Promise<RemoteDocument> {
  const file = fileOf(request, remote);
  const cached = await readCache(file);
  if (cached === undefined || request.validate(cached.text) !== undefined) return fetchNow(request, remote, file);
  const age = remote.clock() - cached.askedAt;
  const due = age < 0 || age > REFRESH_AFTER_MS;
  return {
    text: cached.text,
    ...(cached.failure !== undefined && { failure: { code: UNREACHABLE, message: cached.failure } }),
    refreshed: due ? refresh(request, remote, { file, cached }) : NOTHING_NEW,
  };
}

/** Returns a URL without its user, password and query, which may be secret. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

async function fetchNow(request: RemoteRequest, remote: Remote, file: string): Promise<RemoteDocument> {
  try {
    const response = await send(request, remote, {});
    const fetched = toCached(response, request, remote.clock());
    await writeCache(file, fetched, remote);
    return { text: fetched.text, refreshed: NOTHING_NEW };
  } catch (thrown) {
    const { code, message } = HeddleError.from(thrown);
    return { failure: { code: code === 'UPSTREAM_TIMEOUT' ? code : UNREACHABLE, message }, refreshed: NOTHING_NEW };
  }
}

async function refresh(
  request: RemoteRequest,
  remote: Remote,
  { file, cached }: { readonly file: string; readonly cached: CachedDocument },
): Promise<boolean> {
  const { failure: _, ...good } = cached;
  const askedAt = remote.clock();
  try {
    const response = await send(request, remote, cached.etag === undefined ? {} : { 'if-none-match': cached.etag });
    const next = response.status === 304 ? { ...good, askedAt } : toCached(response, request, askedAt);
    await writeCache(file, next, remote);
    return next.text !== cached.text;
  } catch (thrown) {
    // An aborted fetch is no failure, and the next command fetches again.
    if (!remote.signal?.aborted)
      await writeCache(file, { ...good, askedAt, failure: HeddleError.from(thrown).message }, remote);
    return false;
  }
}

function send({ url, token }: RemoteRequest, remote: Remote, more: Record<string, string>): Promise<GuardedResponse> {
  const { env, timeoutMs, signal } = remote;
  return guardedFetch(url, {
    env,
    headers: { accept: 'application/json', ...more, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    // The user or the administrator configured the address, so it may be in a private network.
    source: { written: url },
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(signal && { signal }),
  });
}

function toCached({ status, headers, body }: GuardedResponse, request: RemoteRequest, askedAt: number): CachedDocument {
  const host = new URL(request.url).host;
  if (status === 401 || status === 403)
    throw new HeddleError(UNREACHABLE, `${host} does not accept the token (${status}).`);
  if (status !== 200) throw new HeddleError(UNREACHABLE, `${host} responded with status ${status}.`);
  const text = body.toString('utf8');
  const defect = request.validate(text);
  if (defect !== undefined) throw new HeddleError(UNREACHABLE, `The response of ${host} ${defect}.`);
  return { text, askedAt, ...(headers.etag !== undefined && { etag: headers.etag }) };
}

// The token is part of the name: with another token the response may differ.
function fileOf({ url, token = '' }: RemoteRequest, { home }: Remote): string {
  return join(home, 'cache', `${createHash('sha256').update(`${url}\n${token}`).digest('hex')}.json`);
}

async function readCache(file: string): Promise<CachedDocument | undefined> {
  try {
    const cached: unknown = JSON.parse(await readFile(file, 'utf8'));
    const isValid = isObject(cached) && typeof cached.text === 'string' && typeof cached.askedAt === 'number';
    return isValid ? (cached as unknown as CachedDocument) : undefined;
  } catch {
    return undefined;
  }
}

// If the cache cannot be written, the next command fetches again.
async function writeCache(file: string, cached: CachedDocument, { home }: Remote): Promise<void> {
  await replaceFile(file, JSON.stringify(cached), { home }).catch(() => undefined);
}
