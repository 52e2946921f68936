import { approvalEnded } from '../../core/call/approval-ended.ts';
import { ERRORS } from '../../core/error-codes.ts';
import { HeddleError } from '../../core/errors.ts';
import type { Approval, ApprovalStatus, ApprovalVerdict } from '../../core/records/approval.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import type { Approvals } from '../../heddle.ts';
import { approvalToDecide } from '../approvals/approval-to-decide.ts';
import { type DecidingCaller, decidingCaller, KEY_OPTION } from '../approvals/deciding-caller.ts';
import { formContent } from '../approvals/form-content.ts';
import { approvalText, decidedText, printApprovalTable, printStanding } from '../approvals/print-approval.ts';
import { STANDING_OPTIONS, standingWish } from '../approvals/standing-wish.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, readNumber, TRUST_OPTION } from '../command.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readDuration } from '../input/read-duration.ts';
import { oneId, unknownVerb } from '../input/unknown-verb.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const STATUSES: readonly (ApprovalStatus | 'all')[] = [
  ...(['pending', 'approved', 'rejected', 'timeout', 'expired', 'used', 'void', 'all'] as const),
];
const ENDED: Partial<Record<ApprovalStatus, string>> = {
  timeout: 'has timed out',
  expired: 'has expired',
  used: 'was used',
};
const MAX_LISTED = 10_000;

/** The command as it was typed, and the caller that it acts for. */
interface Site extends DecidingCaller {
  readonly approvals: Approvals;
  readonly words: readonly string[];
  readonly input: Input;
}

const VERBS: Readonly<Record<string, (site: Site) => Promise<number>>> = {
  list,
  show,
  approve,
  reject,
  wait,
  standing,
};

export const manageApprovals: Command = {
  summary:
    'List, show and decide approvals of calls. Works beside a running gateway, which notices a decision at once.',
  usage:
    'heddle approvals [list] | show ID | approve ID [--always …] | reject ID --note TEXT | wait ID | standing list | standing revoke ID …',
  notes: [
    'The beginning of an id is enough, as long as only one approval has it.',
    'approve asks at a terminal. Without one it needs the API key of an approver: --key FILE or HEDDLE_KEY.',
    'wait exits with 0 once the call is approved, with 5 if it was not, and with 6 if it is still pending.',
  ],
  examples: [
    'heddle approvals',
    'heddle approvals show ap_3k',
    'heddle approvals approve ap_3k --note "Looks right."',
    'heddle approvals approve ap_3k --always --until 8h --argument path=reports/*',
    'heddle approvals reject ap_3k --note "Not on a Friday."',
    'heddle approvals wait ap_3k --timeout 10m',
    'heddle approvals standing revoke st_7q',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    status: { type: 'string', value: 'STATUS', help: `list: ${STATUSES.join(', ')} (default: pending)` },
    limit: { type: 'string', value: 'N', help: 'list: at most so many, newest first (default: 100)' },
    cursor: { type: 'string', value: 'CURSOR', help: 'list: go on behind an earlier list, which prints it' },
    note: { type: 'string', value: 'TEXT', help: 'approve, reject: a note for the requester; reject requires it' },
    content: { type: 'string', value: 'JSON', help: 'approve: the content of the form of a workflow step' },
    ...STANDING_OPTIONS,
    timeout: { type: 'string', value: 'TIME', help: 'wait: at most this long, such as 90s or 10m' },
    key: KEY_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb = 'list', ...words] = input.positionals;
    const act = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (!act || input.rest !== undefined) throw unknownVerb('approvals', verb, Object.keys(VERBS));
    // Deciding needs no server, so none is started.
    const options = { ...openOptions(input), autoConnect: false, onProblems: printFileProblems };
    return withHeddle(options, async ({ approvals, access }) =>
      act({ ...(await decidingCaller(access, input)), approvals, words, input }),
    );
  },
};

async function list({ approvals, words, input, by }: Site): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle approvals list` takes no id; `show` does.');
  const status = readStatus(input.text('status') ?? 'pending');
  const limit = readNumber('limit', input.text('limit'), MAX_LISTED);
  const cursor = input.text('cursor');
  const { items, next } = await approvals.page(by, {
    ...{ status, ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) },
  });
  if (input.flag('json')) printJson(items);
  else if (items.length === 0) notice(status === 'all' ? 'There is no approval.' : `No approval is ${status}.`);
  else printApprovalTable(items);
  if (next === undefined) return 0;
  const total = await approvals.count(by, { status });
  const page = cursor === undefined ? `the newest ${items.length} of ${total}` : `${items.length} of ${total}`;
  notice(`These are ${page}. List the next with --cursor ${next}.`);
  return 0;
}

async function show({ approvals, words, input, by }: Site): Promise<number> {
  const approval = await approvals.get(by, idOf(words, 'show'));
  if (input.flag('json')) printJson(approval);
  else {
    const text = approvalText(approval, process.stdout);
    process.stdout.write(`${text}\n`);
  }
  return 0;
}

async function approve(site: Site): Promise<number> {
  const { approvals, words, input, by, hasKey } = site;
  const standing = standingWish(input);
  const note = input.text('note');
  const approval = await approvalToDecide(approvals, by, idOf(words, 'approve'));
  // A settled approval needs no question: deciding it fails, and names the decider.
  const asks = !hasKey && approval.status === 'pending';
  const chosen = asks ? await confirm(approval, standing !== undefined) : {};
  const content = await formContent(approval, input.text('content'));
  return decide(site, approval, {
    verdict: 'approve',
    ...(content && { content }),
    ...(note !== undefined && { note }),
    ...chosen,
    ...(standing && { standing }),
  });
}

/** Shows the whole approval and asks the user. Throws PERMISSION_DENIED without a terminal, CALL_CANCELLED for a no. */
async function confirm(approval: Approval, isStanding: boolean): Promise<Pick<ApprovalVerdict, 'standing'>> {
  const [{ canAsk }, { askVerdict }] = await Promise.all([
    import('../input/ask.ts'),
    import('../approvals/ask-verdict.ts'),
  ]);
  if (!canAsk()) {
    throw new HeddleError('PERMISSION_DENIED', 'Approving needs a terminal or the API key of an approver.', {
      fix: 'Run it in a terminal, or give a key with --key FILE or in HEDDLE_KEY.',
    });
  }
  const question = isStanding ? 'Approve it, and later calls like it?' : 'Approve it?';
  const verdict = await askVerdict(approval, { question, offersStanding: !isStanding });
  if (verdict) return verdict;
  throw new HeddleError('CALL_CANCELLED', `You said no, so ${approval.id} stays pending.`, {
    fix: `Reject it with \`heddle approvals reject ${approval.id} --note …\`.`,
  });
}

async function reject(site: Site): Promise<number> {
  const { approvals, words, input, by } = site;
  const id = idOf(words, 'reject');
  const approval = await approvals.get(by, id);
  const note = input.text('note') ?? (approval.status === 'pending' ? await askNote() : '');
  return decide(site, approval, { verdict: 'reject', note });
}

async function askNote(): Promise<string> {
  const { canAsk, openConversation } = await import('../input/ask.ts');
  if (!canAsk()) {
    throw new HeddleError('USAGE_INVALID', 'A rejection needs a note, which the requester gets.', {
      fix: 'Add --note "…".',
    });
  }
  const conversation = openConversation();
  try {
    return (await conversation.ask('Why? The requester gets this note:')).trim();
  } finally {
    conversation.close();
  }
}

async function decide({ approvals, input, by }: Site, { id }: Approval, verdict: ApprovalVerdict): Promise<number> {
  const decided = await approvals.decide(by, id, verdict);
  if (input.flag('json')) printJson(decided);
  else print(decidedText(decided, verdict));
  if (decided.subject.run && decided.status !== 'pending') {
    const show = `\`heddle runs show ${decided.subject.run.id}\``;
    notice(
      `A gateway of its project, or the command that waits for it, goes on with the run; ${show} says how without one.`,
    );
  }
  const { alsoApproved = [] } = decided;
  if (alsoApproved.length > 0) notice(`The standing approval also approved ${alsoApproved.join(', ')}.`);
  if (verdict.standing) notice('`heddle approvals standing list` shows the standing approval, and `revoke` ends it.');
  return 0;
}

async function wait({ approvals, words, input, by }: Site): Promise<number> {
  const text = input.text('timeout');
  const ms = text === undefined ? undefined : readDuration('timeout', text);
  const approval = await approvals.get(by, idOf(words, 'wait'));
  const { waitAtMost } = await import('../approvals/wait-at-most.ts');
  const settled = await waitAtMost({ ms, signal: untilInterrupted() }, (signal) =>
    approvals.settled(by, approval.id, signal),
  );
  const last = settled ?? approval;
  if (input.flag('json')) printJson(last);
  else print(`${last.id} ${ENDED[last.status] ?? `is ${last.status}`}.`);
  if (last.status === 'pending') return ERRORS.APPROVAL_PENDING.exit;
  const ended = approvalEnded(last);
  if (!ended) return 0;
  notice(ended.message);
  return ERRORS[ended.code].exit;
}

async function standing({ approvals, words, input, by }: Site): Promise<number> {
  const [verb = 'list', ...ids] = words;
  if (verb === 'list' && ids.length === 0) {
    const all = await approvals.standing.list(by);
    if (input.flag('json')) printJson(all);
    else if (all.length === 0) notice('There is no standing approval.');
    else printStanding(all);
    return 0;
  }
  if (verb !== 'revoke' || ids.length === 0) {
    throw new HeddleError('USAGE_INVALID', 'Use `heddle approvals standing list` or `standing revoke ID …`.');
  }
  for (const id of ids) {
    await approvals.standing.revoke(by, id);
    if (input.flag('json')) printJson({ revoked: id });
    else print(`The standing approval ${id} is revoked.`);
  }
  return 0;
}

function readStatus(text: string): ApprovalStatus | 'all' {
  const status = STATUSES.find((one) => one === text);
  if (status !== undefined) return status;
  const meant = closest(text, STATUSES);
  throw new HeddleError('USAGE_INVALID', `There is no status ${text}; statuses are ${STATUSES.join(', ')}.`, {
    ...(meant && { fix: `Did you mean ${meant}?` }),
  });
}

const idOf = (words: readonly string[], verb: string): string => oneId(words, `approvals ${verb}`, 'heddle approvals');
