import { BoundedMap, BoundedSet } from '../../core/bounded-map.ts';
import { newCallId } from '../../core/call/call-id.ts';
import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { backoffMs, type Time } from '../../core/time.ts';
import type { ApprovalBox, StoredApproval } from '../../store/approval-box.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { LeaseBook } from '../../store/lease-book.ts';
import { webhookBody } from './webhook-body.ts';

/** The address and the key of `approvals.webhook`. */
export interface WebhookTarget {
  readonly url: string;
  readonly secret: string;
}

export interface ApprovalWebhookOptions extends Time {
  readonly target: () => WebhookTarget | undefined;
  readonly box: Pick<ApprovalBox, 'unnotified' | 'markNotified'>;
  readonly leases: LeaseBook;
  readonly audit: Pick<AuditLog, 'append'>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Sends new approvals to the webhook until it has received them or their time is over. */
export interface ApprovalWebhook {
  /** Sends what the webhook has not received, also approvals of other processes. */
  send(): void;
  /** Ends retries and waits for the request in flight, at most its 5 s. The next process goes on. */
  close(): Promise<void>;
}

const LEASE = 'approvals.webhook';
const LEASE_MS = 60_000;
const TIMEOUT_MS = 5000;
const BATCH = 20;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 60_000;
/** The receiver's response is not read beyond this. */
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_REPORTED = 1000;

/** Opens the webhook. One process at a time sends; a receiver recognises a repeated request by the id. */
export function approvalWebhook(options: ApprovalWebhookOptions): ApprovalWebhook {
  const { target, box, leases, clock, timer, random } = options;
  const post = poster(options);
  const ended = new AbortController();
  const tries = new BoundedMap<string, number>(MAX_REPORTED);
  let running: Promise<void> | undefined;
  let isWanted = false;
  let failures = 0;
  let cancel: (() => void) | undefined;

  /** Returns the approvals that were tried least. The receiver may refuse some for ever: they must not hold up others. */
  async function leastTried(): Promise<readonly StoredApproval[]> {
    const waiting = await box.unnotified(clock(), BATCH + tries.size);
    const triesOf = ({ id }: StoredApproval) => tries.get(id) ?? 0;
    return waiting.toSorted((a, b) => triesOf(a) - triesOf(b)).slice(0, BATCH);
  }

  /** Returns true if everything was received. */
  async function sendBatch(to: WebhookTarget): Promise<boolean> {
    if ((await box.unnotified(clock(), 1)).length === 0) return true;
    const lease = await leases.acquire(LEASE, LEASE_MS);
    if (!lease) return false;
    try {
      const waiting = await leastTried();
      const received = await Promise.all(waiting.map((approval) => post(approval, to)));
      for (const [at, { id }] of waiting.entries()) {
        if (received[at]) tries.delete(id);
        else tries.set(id, (tries.get(id) ?? 0) + 1);
      }
      return received.every(Boolean) && waiting.length < BATCH;
    } finally {
      await leases.release(lease);
    }
  }

  async function run(): Promise<void> {
    while (isWanted && !ended.signal.aborted) {
      isWanted = false;
      const to = target();
      const isDone = to === undefined || (await sendBatch(to).catch(() => false));
      failures = isDone ? 0 : failures + 1;
      if (!isDone) retryLater();
    }
    running = undefined;
  }

  function retryLater(): void {
    cancel?.();
    const delay = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10));
    if (!ended.signal.aborted) cancel = timer(backoffMs(delay, 1, random), send);
  }

  function send(): void {
    if (ended.signal.aborted || target() === undefined) return;
    isWanted = true;
    running ??= run();
  }

  return {
    send,
    async close() {
      ended.abort();
      cancel?.();
      await running;
    },
  };
}

/** Posts one approval. A failure is recorded once. */
function poster({ box, audit, clock, env }: ApprovalWebhookOptions) {
  const reported = new BoundedSet<string>(MAX_REPORTED);

  function record(id: string, detail: JsonObject): void {
    const name = 'approvals.webhook';
    audit.append({
      callId: newCallId(),
      phase: 'outcome',
      at: clock(),
      caller: 'heddle',
      via: 'webhook',
      name,
      detail: { approval: id, ...detail },
    });
  }

  async function statusOf(body: string, { url, secret }: WebhookTarget): Promise<number | string> {
    const [{ guardedFetch }, { webhookSignature }] = await Promise.all([
      import('../../egress/guarded-fetch.ts'),
      import('../../egress/webhook-signature.ts'),
    ]);
    const headers = { 'content-type': 'application/json', 'heddle-signature': webhookSignature(body, secret, clock()) };
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_RESPONSE_BYTES };
    try {
      const request = { method: 'POST', body, headers, env, source: { written: url }, ...limits } as const;
      return (await guardedFetch(url, request)).status;
    } catch (thrown) {
      return HeddleError.from(thrown).code;
    }
  }

  return async function post(approval: StoredApproval, to: WebhookTarget): Promise<boolean> {
    const { id } = approval;
    const status = await statusOf(webhookBody(approval, clock()), to);
    if (typeof status === 'number' && status >= 200 && status < 300) {
      await box.markNotified(id, clock());
      record(id, { outcome: 'ok' });
      return true;
    }
    if (!reported.has(id))
      record(id, { outcome: 'failed', reason: typeof status === 'number' ? `HTTP ${status}` : status });
    reported.add(id);
    return false;
  };
}
