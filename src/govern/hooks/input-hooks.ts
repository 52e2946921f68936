import { REJECTED } from '../../core/call/check-input-response.ts';
import { serverOf } from '../../core/call/continuation.ts';
import type { InputRequest, InputResponse, InputResponses, ResolvedCall, Result } from '../../core/call.ts';
import type { Configured } from './hook.ts';
import { judge } from './judge.ts';
import type { SamplingRequest } from './sampling-approval.ts';

/** Runs the hooks after each input response for a server. A withheld response is replaced by a refusal. */
export async function checkResponses(configured: Configured, call: ResolvedCall): Promise<ResolvedCall> {
  const { inputResponses, continuation } = call;
  // The response to an approval form is for Heddle itself.
  if (!inputResponses || continuation?.kind === 'approval') return call;
  const server = serverOf(continuation) ?? call.target.servers[0];
  const checked: Record<string, InputResponse> = {};
  for (const [key, response] of Object.entries(inputResponses)) {
    const isWithheld = await denies(
      judge(configured, 'afterInputResponse', {
        call,
        event: () => ({ call, server, response }),
      }),
    );
    checked[key] = isWithheld ? refusalInsteadOf(response) : response;
  }
  return { ...call, inputResponses: checked };
}

/**
 * Runs the hooks before each input request of a result. Returns the refusals to send to the server; undefined if the
 * caller may get all requests. A stateless server gets its responses together, so one refusal refuses all.
 */
export async function checkRequests(
  configured: Configured,
  call: ResolvedCall,
  result: Exclude<Result, { readonly kind: 'complete' }>,
): Promise<InputResponses | undefined> {
  const { continuation } = result;
  if (result.kind !== 'input-required' || continuation.kind === 'approval') return undefined;
  const { server } = continuation;
  const requests = Object.entries(result.inputRequests);
  const refused: string[] = [];
  for (const [key, request] of requests) {
    const about = { call, event: () => ({ call, server, request }) };
    const isRefused = await denies(judge(configured, 'beforeInputRequest', about));
    if (isRefused || !(await isSamplingAllowed(configured, call, { server, key, request, continuation })))
      refused.push(key);
  }
  if (refused.length === 0) return undefined;
  const isWhole = continuation.kind === 'upstream' || continuation.kind === 'call-again';
  const answered = requests.filter(([key]) => isWhole || refused.includes(key));
  return Object.fromEntries(answered.map(([key, request]) => [key, refusalOf(request)]));
}

/** Applies `sampling.permission` to a sampling request. All other requests are allowed. */
async function isSamplingAllowed(
  { sampling, parts }: Configured,
  call: ResolvedCall,
  asked: SamplingRequest,
): Promise<boolean> {
  if (asked.request.method !== 'sampling/createMessage' || sampling === 'allow') return true;
  if (sampling === 'deny') return false;
  const { isSamplingApproved } = await import('./sampling-approval.ts');
  return isSamplingApproved(parts, call, asked);
}

async function denies(judgements: ReturnType<typeof judge>): Promise<boolean> {
  for await (const { verdict } of judgements) if (verdict.effect === 'deny') return true;
  return false;
}

const DECLINED: InputResponse = { action: 'decline' };
const FAILED: InputResponse = { failed: { code: REJECTED, message: 'The request was refused.' } };

const refusalOf = ({ method }: InputRequest) => (method === 'elicitation/create' ? DECLINED : FAILED);
/** Only the response to an elicitation has an `action`. */
const refusalInsteadOf = (response: InputResponse) => ('action' in response ? DECLINED : FAILED);
