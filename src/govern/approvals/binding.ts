import { hash } from 'node:crypto';
import { splitMeta } from '../../core/bound-meta.ts';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { DecidedCall, InputResponses, Json, JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { ApprovalKind } from '../../core/records/approval.ts';

/** Returns a digest of a server's entry; undefined for a server that has none. */
export type SignatureOf = (server: string) => string | undefined;

/** Returns SHA-256 of the canonical JSON of a value: the order of keys does not count. */
export const digestOf = (value: Json | undefined): string => hash('sha256', canonicalJson(value));

/** Returns the kind of the approval of a call. That of a sampling request never is that of its tool. */
export const approvalKind = ({ kind, sampling }: Pick<DecidedCall, 'kind' | 'sampling'>): ApprovalKind =>
  sampling ? 'sampling' : kind;

/**
 * Returns the binding of a call: SHA-256 of everything that an approval covers, with the bound keys of `_meta`. A first
 * call may send input responses; those of a later dispatch belong to the form of the approval.
 */
export function bindingOf(
  call: Pick<DecidedCall, 'kind' | 'target' | 'input' | 'extraParams' | 'meta' | 'caller' | 'sampling' | 'fence'>,
  inputResponses: InputResponses | undefined,
  signatureOf: SignatureOf,
): string {
  const { target, input, extraParams, caller, sampling, fence } = call;
  const servers = target.servers.map((server) => [server, signatureOf(server) ?? null]);
  return digestOf([
    ...[approvalKind(call), target.publicName, target.digest, servers, input, extraParams ?? null],
    ...[(inputResponses as JsonObject | undefined) ?? null, caller.profile ?? null, vaultPrincipal(caller)],
    ...(sampling ? [sampling.server, sampling.task?.id ?? null, sampling.task?.key ?? null] : []),
    // Each step waits for an approval of its own: its decision resumes this run.
    ...(fence ? ['run', fence.run, fence.path] : []),
    ...agentPart(caller),
    ...metaPart(call.meta),
  ]);
}

/** Returns the agent as a part of a binding: a decision about one agent covers no other, nor the program itself. */
const agentPart = ({ agent }: Pick<StandingScope, 'agent'>): readonly JsonObject[] =>
  agent === undefined ? [] : [{ agent }];

/** Returns the bound keys of `_meta` as the last part of a binding. Without such keys the binding has no such part. */
const metaPart = (meta: JsonObject | undefined): readonly JsonObject[] => {
  const { bound } = splitMeta(meta);
  return bound ? [{ _meta: bound }] : [];
};

/** Returns SHA-256 of everything that a call sends to its server. Trace context and ids of calls do not count. */
export function sentDigest({ input, extraParams, meta }: Pick<DecidedCall, 'input' | 'extraParams' | 'meta'>): string {
  return digestOf([input, extraParams ?? null, ...metaPart(meta)]);
}

/** The facts that a standing approval is bound to, besides its arguments. */
export interface StandingScope {
  readonly kind: ApprovalKind;
  readonly name: string;
  readonly digest: string;
  readonly servers: readonly string[];
  readonly extraParams?: JsonObject | undefined;
  readonly meta?: JsonObject | undefined;
  readonly profile?: string | undefined;
  readonly agent?: string | undefined;
  readonly principal: string;
}

/** Returns the facts of a call. */
export const standingScope = (
  call: Pick<DecidedCall, 'kind' | 'target' | 'extraParams' | 'meta' | 'caller' | 'sampling'>,
): StandingScope => ({
  kind: approvalKind(call),
  name: call.target.publicName,
  digest: call.target.digest,
  servers: call.target.servers,
  extraParams: call.extraParams,
  meta: call.meta,
  profile: call.caller.profile,
  agent: call.caller.agent,
  principal: vaultPrincipal(call.caller),
});

/**
 * Returns SHA-256 of everything that a standing approval covers, except its patterns of arguments. With `exactly` it covers
 * these arguments alone.
 */
export function standingBinding(scope: StandingScope, signatureOf: SignatureOf, exactly?: Json): string {
  const { kind, name, digest, servers, extraParams = null, profile = null, principal, meta } = scope;
  const signed = servers.map((server) => [server, signatureOf(server) ?? null]);
  const covered = exactly === undefined ? [] : [{ exactly: digestOf(exactly) }];
  return digestOf([
    ...['standing', kind, name, digest, signed, extraParams, profile, principal],
    ...[...agentPart(scope), ...metaPart(meta), ...covered],
  ]);
}

type StandingCall = Parameters<typeof standingScope>[0] & Pick<DecidedCall, 'input'>;

/** Returns the binding of a call to compare with stored ones, with or without its arguments. Each is computed once. */
export function standingBindings(call: StandingCall, signatureOf: SignatureOf): (withArguments: boolean) => string {
  const computed = new Map<boolean, string>();
  return (withArguments) => {
    const exactly = withArguments ? call.input : undefined;
    const binding = computed.get(withArguments) ?? standingBinding(standingScope(call), signatureOf, exactly);
    computed.set(withArguments, binding);
    return binding;
  };
}
