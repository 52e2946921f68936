import { callerName } from '../../core/call/caller.ts';
import type { Caller } from '../../core/call.ts';
import type { ApprovalCount } from '../../core/records/approval-count.ts';
import type { ApprovalChange, Change, ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import { printApprovals } from './print-approvals.ts';
import { notice, printStatement } from './print-line.ts';
import { stateOf } from './state-label.ts';

interface NoticeOptions {
  readonly by: Caller;
  readonly signal: AbortSignal;
  /** The file of `--config`. */
  readonly configFile: string | undefined;
  /** False leaves out the tools that need approval. */
  readonly approvals: boolean;
}

/**
 * Prints notices while the gateway runs: servers that fail, tools that need approval, and approvals that calls wait for.
 * A failed server is named once until it connects; the tools of a server and each approval are named once.
 */
export async function noticeChanges(
  heddle: Heddle,
  { by, signal, configFile, approvals }: NoticeOptions,
): Promise<void> {
  const failed = new Set<string>();
  const counted = new Set<string>();
  const noticeCounts = (counts: readonly ApprovalCount[]) => {
    for (const count of counts) {
      if (counted.has(count.group)) continue;
      counted.add(count.group);
      printApprovals(count, configFile);
    }
  };
  const noticeServer = (status: ServerStatus) => {
    if (status.state === 'connected') failed.delete(status.name);
    if (!isFailure(status) || failed.has(status.name)) return;
    failed.add(status.name);
    noticeFailure(status);
  };

  const noticeApproval = approvalNotices(heddle, by);
  const noticeRules = async () => {
    for (const { message, fix = '' } of await heddle.approvals.findings(by)) notice(`${message} ${fix}`.trimEnd());
  };

  const changes = heddle.changes(by, signal);
  await noticeRules();
  if (approvals) noticeCounts(await heddle.approvalCounts(by));
  for (const status of await heddle.servers.list(by)) noticeServer(status);
  for await (const change of changes) {
    if (isSharedTools(change)) noticeCounts(approvals ? await heddle.approvalCounts(by) : []);
    else if (change.kind === 'config') await noticeRules();
    else if (change.kind === 'server' && change.detail.event !== 'notification') noticeServer(change.detail);
    else if (change.kind === 'approval') await noticeApproval(change);
  }
}

/** Returns a function that prints each approval once, when it is requested, in whichever profile. */
function approvalNotices(
  { approvals }: Heddle,
  { profile: _, ...by }: Caller,
): (change: ApprovalChange) => Promise<void> {
  const waiting = new Set<string>();
  return async function noticeApproval({ subject: id, detail: { status } }) {
    if (status !== 'pending') waiting.delete(id);
    else if (!waiting.has(id)) {
      waiting.add(id);
      const approval = await approvals.get(by, id).catch(() => undefined); // The store may have failed.
      if (!approval) return;
      const { subject, requestedBy, agent } = approval;
      const requester = callerName({ id: requestedBy, agent });
      const message = oneLine(`${subject.name}, requested by ${requester}, waits for the approval ${id}.`);
      printStatement({ start: '', message, fix: `Run \`heddle approvals approve ${id}\`.` }, process.stderr);
    }
  };
}

/** The codes of servers that never start. They are problems of the configuration, which are printed elsewhere. */
const NEVER_STARTS = new Set<string>(['CONFIG_INVALID', 'VARIABLE_UNSET', 'SERVER_UNTRUSTED', 'SERVER_BLOCKED']);

const isFailure = ({ state, code }: ServerStatus) =>
  state === 'needs-auth' || (state === 'failed' && !NEVER_STARTS.has(String(code)));

const isSharedTools = (change: Change) =>
  change.kind === 'catalog' && change.subject === 'tools' && change.detail.user === undefined;

function noticeFailure(status: ServerStatus): void {
  const { name, reason = 'no reason is known.', fix } = status;
  printStatement({ start: `${oneLine(`${name} ${stateOf(status)}`)}: `, message: reason, fix }, process.stderr);
}
