import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { HeddleError, UpstreamError } from '../../../core/errors.ts';
import { escapeControlCharacters } from '../../../core/text/visible-text.ts';
import type { TokenVault } from '../../../store/token-vault.ts';
import type { AuthParts } from '../auth-parts.ts';
import type { Credential } from '../credential.ts';
import type { CredentialRequest } from '../credential-request.ts';
import { configuredClient } from './configured-client.ts';
import { machineCredential } from './machine-credential.ts';

export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const MAX_BYTES = 64 * 1024;
const MAX_REFUSALS = 1000;
const REFUSAL_MS = 15 * 60_000;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/** Opens the credential of the grant `jwt_bearer` (RFC 7523): the JWT in a file is exchanged for an access token. */
export function jwtBearer(request: CredentialRequest, parts: AuthParts): Credential {
  const { server, entry } = request;
  const { clientId, clientSecret, privateKey, assertionFile } = entry.oauth ?? {};
  if (clientId === undefined || assertionFile === undefined) throw incomplete(server);
  return machineCredential({
    parts,
    request,
    clientId,
    fix: 'Check what the authorization server allows `oauth.clientId` to do.',
    async prepare({ discovered }) {
      const assertion = await readAssertion(server, assertionFile);
      const error = earlierRefusal(parts, entry.url, assertion);
      if (error) throw error;
      const client = configuredClient({ clientId, clientSecret, privateKey }, discovered.as);
      return { client, parameters: { grant_type: JWT_BEARER, assertion } };
    },
    onTokenRefused: ({ parameters }, error) => rememberRefusal(parts, entry.url, { ...parameters, error }),
  });
}

interface RefusedAssertion {
  readonly error: HeddleError;
  readonly at: number;
}

// The refused assertions of a Heddle, by a hash. An assertion is sent again only after it was replaced, or 15 minutes.
const refusals = new WeakMap<TokenVault, BoundedMap<string, RefusedAssertion>>();

const hashAt = (serverUrl: string, assertion = '') =>
  createHash('sha256')
    .update(JSON.stringify([serverUrl, assertion]))
    .digest('base64url');

function earlierRefusal({ vault, clock }: AuthParts, serverUrl: string, assertion: string) {
  const found = refusals.get(vault)?.get(hashAt(serverUrl, assertion));
  return found && clock() - found.at < REFUSAL_MS ? found.error : undefined;
}

function rememberRefusal(
  { vault, clock }: AuthParts,
  serverUrl: string,
  { assertion, error }: { readonly assertion?: string; readonly error: HeddleError },
): void {
  const known = refusals.get(vault) ?? new BoundedMap<string, RefusedAssertion>(MAX_REFUSALS);
  refusals.set(vault, known.set(hashAt(serverUrl, assertion), { error, at: clock() }));
}

/** Reads the JWT. Its issuer replaces the file from time to time, so it is read for every token request. */
async function readAssertion(server: string, file: string): Promise<string> {
  const text = await readStart(file).catch((thrown) => {
    throw unusable(server, `cannot be read (${codeOf(thrown)})`, file);
  });
  const assertion = text.trim();
  if (assertion === '') throw unusable(server, 'is empty', file);
  if (assertion.length > MAX_BYTES || !JWT.test(assertion)) throw unusable(server, 'does not contain a JWT', file);
  return assertion;
}

/** Reads at most one byte more than allowed: the file may be a device. */
async function readStart(file: string): Promise<string> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0);
  return buffer.toString('utf8', 0, bytesRead);
}

const codeOf = (thrown: unknown) =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'no reason given';

const unusable = (server: string, defect: string, file: string) =>
  new UpstreamError('AUTH_NEEDED', `The assertion file of ${server}, ${escapeControlCharacters(file)}, ${defect}.`, {
    delivered: 'no',
    fix: 'Have the JWT written to the file that `oauth.assertionFile` names.',
    details: { server, file },
  });

const incomplete = (server: string) =>
  new HeddleError('CONFIG_INVALID', `The grant jwt_bearer of ${server} is incomplete.`, {
    fix: 'Set `oauth.clientId`, and `oauth.assertionFile` to the file with the JWT.',
  });
