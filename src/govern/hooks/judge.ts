import { nameFor } from '../../core/call/name-for.ts';
import type { ResolvedCall } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { HookEvent, HookedCall, HookVerdict } from '../../core/records/hook.ts';
import { matchesTools } from '../policy/match.ts';
import { type Configured, type Hook, hooksFor } from './hook.ts';
import { readVerdict } from './read-verdict.ts';
import { type HookFailure, type HookOutput, runHook } from './run-hook.ts';

type JudgedEvent = Exclude<HookEvent['event'], 'onApproval'>;

/** The call that hooks judge, and the fields of the event for the next hook. */
export interface JudgedCall<Name extends JudgedEvent> {
  readonly call: ResolvedCall;
  readonly event: () => EventFields<Extract<HookEvent, { readonly event: Name }>>;
}

type EventFields<E> = Omit<E, 'event' | 'call'> & { readonly call: ResolvedCall };

/** The verdict of one hook. A hook that failed has denied. */
export interface Judgement {
  readonly hook: string;
  readonly verdict: HookVerdict;
}

/** Runs the hooks of an event one after the other. Records each verdict that has an effect. Ends after a denial. */
export async function* judge<Name extends JudgedEvent>(
  configured: Configured,
  name: Name,
  { call, event }: JudgedCall<Name>,
): AsyncGenerator<Judgement> {
  const { parts } = configured;
  for (const hook of hooksFor(configured, name, (tools) => matchesTools(tools, call.target))) {
    const fields = event();
    const sent = { event: name, ...fields, call: toHookedCall(fields.call) } as unknown as HookEvent;
    const output = await runHook(hook, sent, { parts, signal: call.signal });
    const verdict = verdictOf(name, hook, output);
    if (hasEffect(verdict)) record(configured, name, { call, hook, verdict, output });
    yield { hook: hook.name, verdict };
    if (verdict.effect === 'deny') return;
  }
}

function verdictOf(name: JudgedEvent, { name: hook }: Hook, output: HookOutput): HookVerdict {
  const verdict = 'failure' in output ? failureText(output) : readVerdict(name, output.value);
  return typeof verdict === 'string' ? { effect: 'deny', reason: `The hook ${hook} ${verdict}.` } : verdict;
}

/** Returns a failure in words. Callers get no stderr of a hook. */
const failureText = ({ failure, stderr }: HookFailure) =>
  stderr === undefined ? failure : `${failure}; the audit log has its stderr`;

const hasEffect = ({ effect, arguments: changed }: HookVerdict) =>
  changed !== undefined || (effect !== undefined && effect !== 'allow');

interface RecordedVerdict {
  readonly call: ResolvedCall;
  readonly hook: Hook;
  readonly verdict: HookVerdict;
  readonly output: HookOutput;
}

function record(
  { parts: { audit, clock } }: Configured,
  event: JudgedEvent,
  { call, hook, verdict, output }: RecordedVerdict,
): void {
  const { id: callId, caller, target } = call;
  const { effect, reason, arguments: changed } = verdict;
  const { stderr } = 'failure' in output ? output : {};
  audit.append({
    callId,
    phase: 'hook',
    at: clock(),
    caller: caller.id,
    via: caller.via,
    name: target.publicName,
    detail: {
      event,
      hook: hook.name,
      effect,
      reason,
      ...(caller.agent !== undefined && { agent: caller.agent }),
      ...(changed && { changes: true }),
      ...(stderr !== undefined && { stderr }),
    },
  });
}

/** Returns the part of a call that hooks get. */
function toHookedCall({ id, kind, target, caller, input }: ResolvedCall): HookedCall {
  const { id: callerId, roles, via, profile, agent } = caller;
  return {
    id,
    kind,
    name: target.publicName,
    servers: target.servers,
    caller: {
      ...{ id: callerId, roles, via },
      ...(profile !== undefined && { profile }),
      ...(agent !== undefined && { agent }),
    },
    arguments: input,
  };
}

const fixFor = (hook: string) => `The hook is ${hook}; the operator who maintains it can change it.`;
const because = (reason: string | undefined) => (reason === undefined ? '' : ` ${sentence(reason)}`);
const sentence = (text: string) => (/[.!?…\]]$/u.test(text) ? text : `${text}.`);

/** Creates the error for a call that a hook denies. */
export const callDenied = (call: ResolvedCall, hook: string, reason: string | undefined) =>
  new HeddleError('PERMISSION_DENIED', `A hook denied the call of ${nameFor(call)}.${because(reason)}`, {
    fix: fixFor(hook),
    details: { rule: hook },
  });

/** Creates the error for a result that a hook withholds. The call had its effects. */
export const resultWithheld = (call: ResolvedCall, hook: string, reason: string | undefined) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `${nameFor(call)} was called, and a hook withheld its result.${because(reason)}`,
    { fix: `Check the effects before you call again. ${fixFor(hook)}`, details: { rule: hook, withheld: true } },
  );

/** Creates the error for a continuation whose arguments changed since its call began. */
export const otherArguments = (call: ResolvedCall) =>
  new HeddleError(
    'PERMISSION_DENIED',
    `Hooks gave ${nameFor(call)} other arguments than those that its server got first, so the call cannot go on.`,
    { fix: 'Check whether the call had effects, then call again.', details: { rule: 'hooks.beforeCall' } },
  );
