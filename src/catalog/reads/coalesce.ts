import { abortable } from '../../core/async/abortable.ts';
import { BoundedSet } from '../../core/bounded-map.ts';
import { hasAnyCapability } from '../../core/call/client-capabilities.ts';
import type { DecidedCall, Handler, ResolvedCall, Result, Stage } from '../../core/call.ts';
import { isPublic, readKey } from './read-key.ts';

/** A read in flight that several callers wait for. */
interface SharedRead {
  readonly server: string;
  readonly principal: string;
  readonly result: Promise<Result>;
  readonly abort: AbortController;
  waiting: number;
  /** Lets no further caller join. */
  readonly end: () => void;
}

export interface Coalesced {
  /** Coalesces identical concurrent reads of one principal; passes every other call on. */
  readonly stage: Stage<DecidedCall>;
  /** Makes later reads of a server start anew, since one of its resources may have changed. */
  split(server: string): void;
}

const MAX_KNOWN = 1000;

/**
 * Coalesces reads of different principals only if the last result of the same read had `cacheScope: public`, and never
 * if each caller of the server has credentials of its own.
 */
export function coalesce(isPerUser: (server: string) => boolean = () => false): Coalesced {
  const reads = new Map<string, SharedRead>();
  const publicReads = new BoundedSet<string>(MAX_KNOWN);

  function rememberScope(call: ResolvedCall, result: Result): void {
    const key = readKey(call, 'public');
    if (isPublic(result) && !isPerUser(call.target.servers[0])) publicReads.add(key);
    else publicReads.delete(key);
  }

  function start(key: string, call: DecidedCall, next: Handler<DecidedCall>): SharedRead {
    const abort = new AbortController();
    const result = next({ ...call, signal: abort.signal });
    const end = () => {
      if (reads.get(key) === read) reads.delete(key);
    };
    const read: SharedRead = {
      server: call.target.servers[0],
      principal: call.caller.id,
      result,
      abort,
      waiting: 0,
      end,
    };
    reads.set(key, read);
    result
      .then(
        (complete) => rememberScope(call, complete),
        () => {},
      )
      .finally(end);
    return read;
  }

  async function join(call: DecidedCall, next: Handler<DecidedCall>): Promise<Result> {
    const publicKey = readKey(call, 'public');
    const key = `${call.options.timeoutMs} ${publicReads.has(publicKey) ? publicKey : readKey(call, 'private')}`;
    const read = reads.get(key) ?? start(key, call, next);
    const result = await waitFor(read, call.signal);
    const mayShare = isPublic(result) && !isPerUser(read.server);
    const isForCaller = read.principal === call.caller.id || mayShare;
    return isForCaller ? result : next(call); // The result is no longer public.
  }

  function split(server: string): void {
    for (const [key, read] of reads) if (read.server === server) reads.delete(key);
  }

  function splitAll(servers: readonly string[]): void {
    if (reads.size > 0) for (const server of servers) split(server);
  }

  return {
    split,
    stage: function coalesce(call, next) {
      if (isJoinable(call)) return join(call, next);
      const { servers, facts } = call.target;
      if (facts.readOnly) return next(call);
      // A read after a write must see it, so it joins no read that began before the write ended.
      const splitThem = () => splitAll(servers);
      splitThem();
      const result = next(call);
      result.then(splitThem, splitThem);
      return result;
    },
  };
}

/** Waits for a shared read. The request to the server is aborted when the last waiting caller leaves. */
async function waitFor(read: SharedRead, signal: AbortSignal): Promise<Result> {
  read.waiting++;
  try {
    return await abortable(read.result, signal);
  } finally {
    read.waiting--;
    if (read.waiting === 0) {
      read.end();
      read.abort.abort();
    }
  }
}

/** Returns false if the caller can get input requests, progress or log messages: these belong to one request. */
const isJoinable = ({ kind, continuation, inputResponses, capabilities, onProgress, log, signal }: ResolvedCall) =>
  kind === 'resource' &&
  !continuation &&
  !inputResponses &&
  !onProgress &&
  !log &&
  !(capabilities && hasAnyCapability(capabilities)) &&
  !signal.aborted;
