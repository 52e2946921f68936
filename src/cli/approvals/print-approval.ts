import { callerName } from '../../core/call/caller.ts';
import { approvalRows, durationText } from '../../core/call/describe-approval.ts';
import type { Approval, ApprovalVerdict, StandingApproval } from '../../core/records/approval.ts';
import { cutText } from '../../core/text/cut-text.ts';
import { previewJson } from '../../core/text/preview-json.ts';
import { following, indented } from '../print/escape-control.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';

const TITLE_WIDTH = 11;
const MAX_ARGUMENTS_CHARS = 80;

/** Formats an approval in full for a stream. Text of servers and callers is escaped, and cannot forge a row. */
export const approvalText = (approval: Approval, stream: NodeJS.WriteStream, now = Date.now()): string =>
  approvalRows(approval, now)
    .map(({ title, text }) =>
      text.includes('\n') ? `${title}\n${indented(text, stream)}` : following(title.padEnd(TITLE_WIDTH), text, stream),
    )
    .join('\n');

/** Prints approvals as a table. The time left is shown for those that are pending. */
export function printApprovalTable(approvals: readonly Approval[], now = Date.now()): void {
  printColumns(
    [
      { title: 'APPROVAL', of: ({ id }) => id },
      { title: 'STATUS', of: ({ status }) => status },
      {
        title: 'LEFT',
        of: (one) => (one.status === 'pending' ? durationText(one.expiresAt - now) : ''),
        optional: true,
      },
      { title: 'NAME', of: ({ subject }) => subject.name },
      { title: 'RISK', of: ({ subject }) => subject.riskLevel },
      { title: 'REQUESTED BY', of: ({ requestedBy: id, agent }) => callerName({ id, agent }) },
      { title: 'NEEDS', of: neededOf },
      { title: 'ARGUMENTS', of: ({ subject }) => shownArguments(subject) },
    ],
    approvals,
  );
}

/** Cut arguments are JSON text already. */
const shownArguments = ({ arguments: sent, isCut }: Approval['subject']): string =>
  isCut && typeof sent === 'string' ? cutText(sent, MAX_ARGUMENTS_CHARS) : previewJson(sent, MAX_ARGUMENTS_CHARS);

/** Returns the approvers of the first stage that lacks decisions. */
function neededOf({ stages, decisions, status }: Approval): string {
  if (status !== 'pending') return '';
  const given = (at: number) => decisions.filter(({ stage, verdict }) => stage === at && verdict === 'approve').length;
  const at = stages.findIndex(({ need }, index) => given(index) < need);
  const open = stages[at];
  return open === undefined ? '' : `${open.need - given(at)} of ${open.approvers.join(', ')}`;
}

const STANDING: readonly PrintedColumn<StandingApproval>[] = [
  { title: 'STANDING', of: ({ id }) => id },
  { title: 'TOOL', of: ({ tool }) => tool },
  {
    title: 'CALLER',
    of: ({ caller: id = 'all', agent }) => callerName(agent === undefined ? { id } : { id: 'library', agent }),
  },
  { title: 'ARGUMENTS', of: argumentsOf, optional: true },
  { title: 'ENDS', of: endOf, optional: true },
  { title: 'USES LEFT', of: ({ usesLeft }) => (usesLeft === undefined ? '' : String(usesLeft)), optional: true },
  { title: 'APPROVED BY', of: ({ approvedBy }) => approvedBy },
  { title: 'IN', of: ({ from }) => from },
];

export const printStanding = (standing: readonly StandingApproval[]): void => printColumns(STANDING, standing);

function argumentsOf(standing: StandingApproval): string {
  const { exactly } = standing;
  if (exactly !== undefined) return `exactly ${previewJson(exactly, MAX_ARGUMENTS_CHARS)}`;
  return Object.entries(standing.arguments)
    .map(([path, glob]) => `${path}=${glob}`)
    .join(' ');
}

function endOf({ expiresAt, session }: StandingApproval): string {
  const ends = [
    ...(expiresAt === undefined ? [] : [new Date(expiresAt).toISOString()]),
    ...(session === undefined ? [] : ['with its session']),
  ];
  return ends.join(' or ');
}

/** Says what a decision has done. */
export function decidedText({ id, status, subject }: Approval, { verdict }: ApprovalVerdict): string {
  if (verdict === 'approve' && status === 'pending') return `Approved ${id}. It still needs other approvers.`;
  // A run decides what follows from a rejection.
  if (subject.run) return `${verdict === 'approve' ? 'Approved' : 'Rejected'} ${id} for the run ${subject.run.id}.`;
  if (verdict === 'reject') return `Rejected ${id}: ${subject.name} does not run.`;
  return `Approved ${id}: the same call of ${subject.name} runs once.`;
}
