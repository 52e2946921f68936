import { hash } from 'node:crypto';
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
 * Returns the binding of a call: SHA-256 of everything that an approval covers. `_meta` is not covered. A first call may
 * send input responses; those of a later dispatch belong to the form of the approval.
 */
export function bindingOf(
  call: Pick<DecidedCall, 'kind' | 'target' | 'input' | 'extraParams' | 'caller' | 'sampling' | 'fence'>,
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
  ]);
}

/** The facts that a standing approval is bound to, besides its arguments. */
export interface StandingScope {
  readonly kind: ApprovalKind;
  readonly name: string;
  readonly digest: string;
  readonly servers: readonly string[];
  readonly extraParams?: JsonObject | undefined;
  readonly profile?: string | undefined;
  readonly principal: string;
}

/** Returns the facts of a call. */
export const standingScope = (
  call: Pick<DecidedCall, 'kind' | 'target' | 'extraParams' | 'caller' | 'sampling'>,
): StandingScope => ({
  kind: approvalKind(call),
  name: call.target.publicName,
  digest: call.target.digest,
  servers: call.target.servers,
  extraParams: call.extraParams,
  profile: call.caller.profile,
  principal: vaultPrincipal(call.caller),
});

/** Returns SHA-256 of everything that a standing approval covers, except its arguments. */
export function standingBinding(scope: StandingScope, signatureOf: SignatureOf): string {
  const { kind, name, digest, servers, extraParams = null, profile = null, principal } = scope;
  const signed = servers.map((server) => [server, signatureOf(server) ?? null]);
  return digestOf(['standing', kind, name, digest, signed, extraParams, profile, principal]);
}
