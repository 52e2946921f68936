import { hash } from 'node:crypto';
import { isTaskCancel } from '../../core/call/task.ts';
import type { Continuation, Handler, HookEffect, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { canonicalJson, isObject } from '../../core/json.ts';
import { type Configured, digestIn } from './hook.ts';
import { checkRequests, checkResponses } from './input-hooks.ts';
import { callDenied, judge, otherArguments, resultWithheld } from './judge.ts';

// A server whose input requests are refused may send them again; then the call ends.
const MAX_REFUSALS = 8;

/** Runs the hooks of one call and the rest of its stages. Without hooks it only checks the digest of a continuation. */
export async function runHooks(
  configured: Configured | undefined,
  call: ResolvedCall,
  next: Handler<ResolvedCall>,
): Promise<Result> {
  if (!configured) {
    checkDigest(call, call.input);
    return next(call);
  }
  const begun = await beforeCall(configured, call);
  let current = await checkResponses(configured, begun);
  for (let refusals = 0; refusals < MAX_REFUSALS; refusals++) {
    const result = await sent(configured, current, next);
    if (result.kind === 'complete') return afterCall(configured, current, result);
    const bound = withDigest(result, begun);
    const refused = await checkRequests(configured, begun, bound);
    if (refused === undefined) return bound;
    const { inputResponses: _, ...rest } = begun;
    current = { ...rest, continuation: bound.continuation, inputResponses: refused };
  }
  throw new HeddleError('PERMISSION_DENIED', `${call.name} sent input requests again that a hook refuses.`, {
    fix: 'Check whether the call had effects; the operator who maintains the hooks can change them.',
  });
}

/** Runs the hooks before a call. A task has its arguments already, and a request about it sends none. */
async function beforeCall(configured: Configured, call: ResolvedCall): Promise<ResolvedCall> {
  if (call.continuation?.kind === 'task') return call;
  let { input } = call;
  let asks: string | undefined;
  const about = { call, event: () => ({ call: { ...call, input } }) };
  for await (const { hook, verdict } of judge(configured, 'beforeCall', about)) {
    if (verdict.effect === 'deny') throw callDenied(call, hook, verdict.reason);
    if (verdict.effect === 'ask') asks ??= verdict.reason ?? `The hook ${hook} asks for an approval.`;
    input = verdict.arguments ?? input;
  }
  checkDigest(call, input);
  return withEffect(call, { input, asks });
}

function withEffect(
  call: ResolvedCall,
  { input, asks }: { readonly input: JsonObject; readonly asks: string | undefined },
): ResolvedCall {
  const isChanged = canonicalJson(input) !== canonicalJson(call.input);
  if (!isChanged && asks === undefined) return call;
  const hooked: HookEffect = { ...(asks !== undefined && { asks }), ...(isChanged && { original: call.input }) };
  return { ...call, ...(isChanged && { input }), hooked };
}

async function afterCall(
  configured: Configured,
  call: ResolvedCall,
  result: Extract<Result, { readonly kind: 'complete' }>,
): Promise<Result> {
  if (isTaskCancel(call)) return result;
  const { value, isError, provenance } = result;
  const about = { call, event: () => ({ call, server: provenance.server, result: value, isError }) };
  for await (const { hook, verdict } of judge(configured, 'afterCall', about)) {
    if (verdict.effect === 'deny') throw resultWithheld(call, hook, verdict.reason);
  }
  return result;
}

/** Runs the rest of the stages. An error response of a server passes the hooks after the call, as a result does. */
async function sent(configured: Configured, call: ResolvedCall, next: Handler<ResolvedCall>): Promise<Result> {
  try {
    return await next(call);
  } catch (thrown) {
    if (HeddleError.is(thrown) && thrown.code === 'UPSTREAM_REFUSED') await afterRefusal(configured, call, thrown);
    throw thrown;
  }
}

async function afterRefusal(configured: Configured, call: ResolvedCall, { message, details }: HeddleError) {
  const { rpc, server } = details;
  const value = { error: isObject(rpc) ? rpc : { message } };
  const provenance = {
    server: typeof server === 'string' ? server : call.target.servers[0],
    attempts: 1,
    latencyMs: 0,
  };
  await afterCall(configured, call, { kind: 'complete', value, isError: true, provenance });
}

/** Throws if hooks give a continued call other arguments than it began with: its server decided on those. */
function checkDigest(call: ResolvedCall, input: JsonObject): void {
  const { continuation } = call;
  if (continuation === undefined || continuation.kind === 'approval' || continuation.kind === 'task') return;
  const expected = digestIn(continuation) ?? digestOf(call.input);
  if (digestOf(input) !== expected) throw otherArguments(call);
}

type Unfinished = Exclude<Result, { readonly kind: 'complete' }>;

/** Adds the digest of the arguments to a continuation at a server, if a hook changed them. */
function withDigest(result: Unfinished, { hooked, input }: ResolvedCall): Unfinished {
  const { continuation } = result;
  if (hooked?.original === undefined || !isBound(continuation)) return result;
  return { ...result, continuation: { ...continuation, hooked: digestOf(input) } } as Unfinished;
}

const isBound = ({ kind }: Continuation) => kind !== 'approval' && kind !== 'task';
const digestOf = (input: JsonObject) => hash('sha256', canonicalJson(input));
