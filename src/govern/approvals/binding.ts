import { hash } from 'node:crypto';
import { vaultPrincipal } from '../../core/call/vault-principal.ts';
import type { InputResponses, Json, JsonObject, ResolvedCall } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';

/** Returns a digest of a server's entry; undefined for a server that has none. */
export type SignatureOf = (server: string) => string | undefined;

/** Returns SHA-256 of the canonical JSON of a value: the order of keys does not count. */
export const digestOf = (value: Json | undefined): string => hash('sha256', canonicalJson(value));

/**
 * Returns the binding of a call: SHA-256 of everything that an approval covers. `_meta` is not covered. A first call may
 * send input responses; those of a later dispatch belong to the form of the approval.
 */
export function bindingOf(
  call: Pick<ResolvedCall, 'kind' | 'target' | 'input' | 'extraParams' | 'caller'>,
  inputResponses: InputResponses | undefined,
  signatureOf: SignatureOf,
): string {
  const { kind, target, input, extraParams, caller } = call;
  const servers = target.servers.map((server) => [server, signatureOf(server) ?? null]);
  return digestOf([
    ...[kind, target.publicName, target.digest, servers, input, extraParams ?? null],
    ...[(inputResponses as JsonObject | undefined) ?? null, caller.profile ?? null, vaultPrincipal(caller)],
  ]);
}
