import { splitMeta } from '../bound-meta.ts';
import type { Approval, ApprovalDecision, ApprovalSubject } from '../records/approval.ts';
import { cutText } from '../text/cut-text.ts';
import { escapeControlCharacters, escapeJson, oneLine } from '../text/visible-text.ts';

/** A titled text about an approval, escaped. Only arguments have several lines. */
export interface ApprovalRow {
  readonly title: string;
  readonly text: string;
}

const MAX_DESCRIPTION_CHARS = 2000;
const MAX_NOTE_CHARS = 2000;
const MINUTE_MS = 60_000;

/** Describes an approval for the user who decides: everything that the decision depends on, in a fixed order. */
export function approvalRows(approval: Approval, now: number): readonly ApprovalRow[] {
  const { subject, requestedBy, via, profile, agent, requestedAt, reasons, rule, approvalRule, decisions } = approval;
  const profiled = profile === undefined ? '' : `, profile ${profile}`;
  const acting = agent === undefined ? '' : `, agent ${agent}`;
  return [
    row('approval', approval.id),
    row('status', statusOf(approval, now)),
    ...subjectRows(subject),
    row('requested', `by ${requestedBy} (${via}${profiled}${acting}) at ${timeOf(requestedAt)}`),
    ...reasons.map((reason) => row('reason', reason)),
    row('rule', rule),
    ...(approvalRule === undefined ? [] : [row('approvers', `by the approval rule ${approvalRule}`)]),
    ...stageRows(approval),
    ...decisions.map((decision) => row('decision', decisionText(decision))),
    ...(approval.earlierCall === undefined
      ? []
      : [row('earlier', `The call ${approval.earlierCall} was the same, and may have run.`)]),
    ...argumentRows(subject),
  ];
}

const row = (title: string, text: string): ApprovalRow => ({ title, text: oneLine(text) });

const timeOf = (at: number): string => new Date(at).toISOString();

/** Formats a duration with its two largest units: `4 min 32 s`. */
export function durationText(ms: number): string {
  const seconds = Math.max(Math.round(ms / 1000), 0);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first < 0 ? -1 : first).slice(0, 2);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** Returns the status in words, with the time left or the reason. */
function statusOf(approval: Approval, now: number): string {
  const { status, expiresAt, settledAt, callId, outcome = 'not known', reason } = approval;
  const at = settledAt === undefined ? '' : ` at ${timeOf(settledAt)}`;
  switch (status) {
    case 'pending':
      return expiresAt <= now ? 'pending, and its time is over' : `pending, ${durationText(expiresAt - now)} left`;
    case 'approved':
      return `approved, to be used within ${durationText(Math.max(expiresAt - now, MINUTE_MS))}`;
    case 'used':
      return `used${callId === undefined ? '' : ` by the call ${callId}`}${at}; its outcome is ${outcome}`;
    case 'void':
      return `void${at}${reason === undefined ? '' : `: ${reason}`}`;
    case 'timeout':
      return `timeout${at}: it was not decided in time`;
    case 'expired':
      return `expired${at}: it was approved, and not used in time`;
    default:
      return `${status}${at}`;
  }
}

function subjectRows({ kind, name, description, servers, files, riskLevel, requires }: ApprovalSubject) {
  const places = servers.map((server) => {
    const file = files?.[server];
    return file === undefined ? server : `${server} (${file})`;
  });
  return [
    row(kind, name),
    ...(description === undefined ? [] : [row('about', cutText(description, MAX_DESCRIPTION_CHARS))]),
    row(servers.length === 1 ? 'server' : 'servers', places.join(', ')),
    row('risk', riskLevel),
    ...(requires === undefined || requires.length === 0 ? [] : [row('requires', requires.join(', '))]),
  ];
}

function stageRows({ stages, notRequester, decisions }: Approval): readonly ApprovalRow[] {
  return stages.map(({ approvers, need }, at) => {
    const given = decisions.filter(({ stage, verdict }) => stage === at && verdict === 'approve').length;
    const title = stages.length === 1 ? 'needs' : `stage ${at + 1}`;
    const not = notRequester ? ', not the requester' : '';
    return row(title, `${need} of ${approvers.join(', ')}${not}${given === 0 ? '' : `; ${given} given`}`);
  });
}

function decisionText({ by, at, verdict, via, note }: ApprovalDecision): string {
  const what = `${verdict === 'approve' ? 'approved' : 'rejected'} by ${by} (${via}) at ${timeOf(at)}`;
  return note === undefined ? what : `${what}: ${cutText(note, MAX_NOTE_CHARS)}`;
}

function argumentRows(subject: ApprovalSubject): readonly ApprovalRow[] {
  const { arguments: sent, isSanitised, extraParams, inputResponses, changedByHooks, preview } = subject;
  const { bound, unbound } = splitMeta(subject.meta);
  return [
    ...(preview ?? []).map((line) => row('preview', line)),
    ...(changedByHooks === undefined ? [] : [json('before hooks', changedByHooks)]),
    json(isSanitised ? 'arguments, without sensitive values' : 'arguments', sent),
    ...(extraParams === undefined ? [] : [json('other params', extraParams)]),
    ...(inputResponses === undefined ? [] : [json('input responses', inputResponses)]),
    ...(bound ? [json('_meta', bound)] : []),
    ...(unbound ? [json('_meta, may differ in the approved call', unbound)] : []),
  ];
}

/** Formats JSON on lines of its own. Invisible characters are escaped as JSON allows, so the value stays exact. */
const json = (title: string, value: unknown): ApprovalRow => ({
  title,
  text: escapeControlCharacters(escapeJson(JSON.stringify(value, null, 2))),
});
