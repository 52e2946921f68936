import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Clock } from '../../core/time.ts';
import { type GuardedAnswer, guardedFetch } from '../../egress/guarded-fetch.ts';
import { replaceFile } from '../../files/edit-file.ts';
import type { Problem } from '../config.ts';

/** How documents of others are fetched and kept. */
export interface Remote {
  /** Heddle's folder of this user. */
  readonly home: string;
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface RemoteRequest {
  readonly url: string;
  readonly token?: string;
  /** Says what is wrong with an answer; undefined when it can be used. */
  readonly complain: (text: string) => string | undefined;
}

export interface RemoteDocument {
  /** The last good answer; absent when there never was one. */
  readonly text?: string;
  /** Why the last attempt brought nothing. */
  readonly failure?: Failure;
  /** Whether an attempt that still goes on has brought another answer. Never rejects. */
  readonly refreshed: Promise<boolean>;
}

interface Failure {
  readonly code: Problem['code'];
  readonly message: string;
}

interface Kept {
  readonly text: string;
  readonly etag?: string;
  readonly askedAt: number;
  readonly failure?: string;
}

const UNREACHABLE = 'UPSTREAM_UNREACHABLE';
const NOTHING_NEW = Promise.resolve(false);
// Commands in a loop should not become requests in a loop.
const ASK_AGAIN_AFTER_MS = 60_000;

/**
 * A document from an address that somebody configured. What was fetched once is used at once and asked
 * for again behind the scenes, so only the very first time waits for the network.
 */
export async function remoteDocument(request: RemoteRequest, remote: Remote): Promise<RemoteDocument> {
  const file = fileOf(request, remote);
  const kept = await readKept(file);
  if (kept === undefined || request.complain(kept.text) !== undefined) return fetchNow(request, remote, file);
  const age = remote.clock() - kept.askedAt;
  const due = age < 0 || age > ASK_AGAIN_AFTER_MS;
  return {
    text: kept.text,
    ...(kept.failure !== undefined && { failure: { code: UNREACHABLE, message: kept.failure } }),
    refreshed: due ? refresh(request, remote, { file, kept }) : NOTHING_NEW,
  };
}

/** An address without what may be secret in it. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

async function fetchNow(request: RemoteRequest, remote: Remote, file: string): Promise<RemoteDocument> {
  try {
    const answer = await ask(request, remote, {});
    const kept = checked(answer, request, remote.clock());
    await keep(file, kept, remote);
    return { text: kept.text, refreshed: NOTHING_NEW };
  } catch (thrown) {
    const { code, message } = HeddleError.from(thrown);
    return { failure: { code: code === 'UPSTREAM_TIMEOUT' ? code : UNREACHABLE, message }, refreshed: NOTHING_NEW };
  }
}

async function refresh(
  request: RemoteRequest,
  remote: Remote,
  { file, kept }: { readonly file: string; readonly kept: Kept },
): Promise<boolean> {
  const { failure: _, ...good } = kept;
  const askedAt = remote.clock();
  try {
    const answer = await ask(request, remote, kept.etag === undefined ? {} : { 'if-none-match': kept.etag });
    const next = answer.status === 304 ? { ...good, askedAt } : checked(answer, request, askedAt);
    await keep(file, next, remote);
    return next.text !== kept.text;
  } catch (thrown) {
    // Stopped, not failed: the next one to ask may.
    if (!remote.signal?.aborted)
      await keep(file, { ...good, askedAt, failure: HeddleError.from(thrown).message }, remote);
    return false;
  }
}

function ask({ url, token }: RemoteRequest, remote: Remote, more: Record<string, string>): Promise<GuardedAnswer> {
  const { timeoutMs, signal } = remote;
  return guardedFetch(url, {
    headers: { accept: 'application/json', ...more, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    // The address was written down by the user or by who manages the machine; it may well be inside.
    allowLoopback: true,
    allowPrivate: true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(signal && { signal }),
  });
}

function checked({ status, headers, body }: GuardedAnswer, request: RemoteRequest, askedAt: number): Kept {
  const host = new URL(request.url).host;
  if (status === 401 || status === 403)
    throw new HeddleError(UNREACHABLE, `${host} does not accept the token (${status}).`);
  if (status !== 200) throw new HeddleError(UNREACHABLE, `${host} answered ${status}.`);
  const text = body.toString('utf8');
  const complaint = request.complain(text);
  if (complaint !== undefined) throw new HeddleError(UNREACHABLE, `The answer of ${host} ${complaint}.`);
  return { text, askedAt, ...(headers.etag !== undefined && { etag: headers.etag }) };
}

// The token is part of the name: another person's answer is another document.
function fileOf({ url, token = '' }: RemoteRequest, { home }: Remote): string {
  return join(home, 'cache', `${createHash('sha256').update(`${url}\n${token}`).digest('hex')}.json`);
}

async function readKept(file: string): Promise<Kept | undefined> {
  try {
    const kept: unknown = JSON.parse(await readFile(file, 'utf8'));
    const sound = isObject(kept) && typeof kept.text === 'string' && typeof kept.askedAt === 'number';
    return sound ? (kept as unknown as Kept) : undefined;
  } catch {
    return undefined;
  }
}

// A cache that cannot be written costs a request the next time, and nothing else.
async function keep(file: string, kept: Kept, { home }: Remote): Promise<void> {
  await replaceFile(file, JSON.stringify(kept), { home }).catch(() => undefined);
}
