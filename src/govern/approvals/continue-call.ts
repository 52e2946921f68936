import { randomBytes } from 'node:crypto';
import type { ApprovalProof } from '../../core/call/approval.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, Handler, Result, ServerContinuation } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { IssuedProof } from '../../store/approvals/call-book.ts';
import { cannotRequest } from './approval-errors.ts';
import type { ApprovalFlow } from './approval-flow.ts';
import { sentDigest } from './binding.ts';
import { isApprovalId } from './next-approval.ts';
import { isDecidedByRequester, planOf } from './plan.ts';

const NONCE_BYTES = 16;

/** A continuation that sends its call to the server again. The others poll a task or have a ticket for one use. */
const isSentAgain = ({ kind }: ServerContinuation) => kind === 'upstream' || kind === 'call-again';

/**
 * Lets the continuation of a call go on that was approved with the same arguments. A server has it. One that the rules in
 * force allow needs no proof; a valid one gives the approval its end.
 */
export async function continueCall(
  call: DecidedCall & { readonly continuation: ServerContinuation },
  next: Handler<DecidedCall>,
  { flow, isSelfApproved }: { readonly flow: ApprovalFlow; readonly isSelfApproved: boolean },
): Promise<Result> {
  const { continuation } = call;
  const { approved: proof } = continuation;
  const isAllowed = call.decision.effect === 'allow';
  if (proof) {
    const proven = isProven(call, proof, flow);
    if (await (isAllowed ? proven.catch(() => false) : proven)) return runProven(call, { next, proof, flow });
    if (!isAllowed) throw notProven(call);
  }
  if (isAllowed) return next(call);
  const plan = await planOf(call, flow.settings().approvals, flow.clock());
  const mayApproveItself = isSelfApproved && call.target.facts.approval !== 'always';
  if (mayApproveItself && isDecidedByRequester(plan, call.caller)) {
    return next({ ...call, approval: { how: 'self', by: [call.caller.id] } });
  }
  throw cannotRequest(call, 'The call began without an approval, and its server has it already.', 'Call again.');
}

/** Tests whether this proof was issued for the call and its arguments. A proof that sends the call again is used up. */
async function isProven(
  call: DecidedCall & { readonly continuation: ServerContinuation },
  proof: ApprovalProof,
  { calls }: ApprovalFlow,
): Promise<boolean> {
  const { continuation } = call;
  // A continuation of a task sends no arguments: the server has them.
  if (continuation.kind !== 'task' && proof.digest !== sentDigest(call)) return false;
  const issued = toIssued(call, proof);
  return isSentAgain(continuation) ? calls.use(issued) : calls.isIssued(issued);
}

interface ProvenCall {
  readonly next: Handler<DecidedCall>;
  readonly proof: ApprovalProof;
  readonly flow: ApprovalFlow;
}

async function runProven(
  call: DecidedCall & { readonly continuation: ServerContinuation },
  { next, proof, flow }: ProvenCall,
): Promise<Result> {
  const isOneTime = isApprovalId(proof.id);
  const how = isOneTime ? 'approved' : 'standing';
  const run = () => next({ ...call, approval: { id: proof.id, how, by: [] } });
  const isUsedUp = isSentAgain(call.continuation);
  const isLast = (thrown: HeddleError) => isUsedUp || isEnd(thrown, call.continuation);
  const result = await (isOneTime ? untilEnd(run, { id: proof.id, call, flow, isLast }) : run());
  return isUsedUp ? withNewProof(result, { id: proof.id, call, flow }) : withProof(result, proof);
}

/** Tests whether an error ended the call. A poll may fail, and a response may be invalid: then the call goes on. */
const isEnd = ({ code, details }: HeddleError, { kind }: ServerContinuation) =>
  kind === 'task' ? isObject(details.task) : code !== 'INPUT_INVALID';

interface ApprovedRun {
  readonly id: string;
  readonly call: DecidedCall;
  readonly flow: ApprovalFlow;
  /** Tests whether the call is over with this error. */
  readonly isLast?: (thrown: HeddleError) => boolean;
}

/** Runs a call with its approval, and notes its end. A call that a server has not finished has no end yet. */
export async function untilEnd(
  run: () => Promise<Result>,
  { id, call, flow, isLast = () => true }: ApprovedRun,
): Promise<Result> {
  flow.running.add(call.id);
  const end = (outcome: string) =>
    void flow
      .apply(id, { kind: 'end', outcome })
      .catch(() => {}) // The closing audit record has the outcome, too.
      .finally(() => flow.running.delete(call.id));
  try {
    await flow.runner.begin();
    const result = await run().finally(() => flow.runner.end());
    if (result.kind === 'complete') end('complete');
    return result;
  } catch (thrown) {
    const error = HeddleError.from(thrown);
    if (isLast(error)) end(error.code);
    throw thrown;
  }
}

/** Issues the proof of the next continuation, so that the call needs no second approval. It is good for one use. */
export async function withNewProof(result: Result, { id, call, flow }: ApprovedRun): Promise<Result> {
  if (result.kind === 'complete' || result.continuation.kind === 'approval') return result;
  const proof = { id, digest: sentDigest(call), nonce: randomBytes(NONCE_BYTES).toString('base64url') };
  try {
    await flow.calls.issue(toIssued(call, proof), flow.clock());
  } catch (cause) {
    throw notContinuable(call, cause);
  }
  return withProof(result, proof);
}

function withProof(result: Result, approved: ApprovalProof): Result {
  if (result.kind === 'working') return { ...result, continuation: { ...result.continuation, approved } };
  if (result.kind !== 'input-required' || result.continuation.kind === 'approval') return result;
  return { ...result, continuation: { ...result.continuation, approved } };
}

const toIssued = ({ id, caller }: DecidedCall, { id: approval, digest, nonce }: ApprovalProof): IssuedProof => ({
  principal: vaultPrincipal(caller),
  callId: id,
  ...{ approval, digest, nonce },
});

const notProven = (call: DecidedCall) =>
  cannotRequest(
    call,
    'Its approval covers one call, and this state was used before or belongs to another.',
    'Call again.',
  );

const notContinuable = ({ name }: DecidedCall, cause: unknown) =>
  new HeddleError(
    'OUTCOME_UNKNOWN',
    `The server has the call of ${name}, but the store could not keep how it goes on.`,
    {
      fix: 'Check the system that the tool acts on, then repair the store: `heddle doctor` examines it.',
      cause,
    },
  );
