import { UpstreamError } from '../../core/errors.ts';

const KNOW_THE_ISSUER = 'Point NODE_EXTRA_CA_CERTS to the certificate of its issuer, if you trust it.';
const UNKNOWN_ISSUER = ['has an issuer that this machine does not trust', KNOW_THE_ISSUER] as const;
const NOT_TLS = ['the server does not use TLS at this port', 'Check scheme and port of its `url`.'] as const;

// All of these occur before the request is sent.
const CERTIFICATE: Readonly<Record<string, readonly [problem: string, fix: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ['is self-signed', KNOW_THE_ISSUER],
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  CERT_UNTRUSTED: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: ['has expired', 'Ask the operator of the server to renew it.'],
  CERT_NOT_YET_VALID: ['is not valid yet', 'Check the clock of this machine.'],
  CERT_REVOKED: ['has been revoked', 'Ask the operator of the server.'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['is for another name', 'Use the name that the certificate is for in its `url`.'],
};
const HANDSHAKE: Readonly<Record<string, readonly [problem: string, fix: string]>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  ERR_SSL_UNSUPPORTED_PROTOCOL: ['client and server have no TLS version in common', 'Ask the operator of the server.'],
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: [
    'client and server have no TLS version in common',
    'Ask the operator of the server.',
  ],
  ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: ['it refused the handshake', 'Ask the operator of the server.'],
};

const OTHER_HANDSHAKE = ['the handshake failed', 'Check scheme and port of its `url`.'] as const;

/** Converts a TLS failure to an error with host, cause and fix; undefined for other failures. */
export function certificateProblem(
  server: string,
  cause: Error & { readonly code?: string },
  host?: string,
): UpstreamError | undefined {
  const { code = '' } = cause;
  const [certificate, handshake] = [CERTIFICATE, HANDSHAKE].map((table) =>
    Object.hasOwn(table, code) ? table[code] : undefined,
  );
  const found = certificate ?? handshake ?? (/^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code) ? OTHER_HANDSHAKE : undefined);
  if (!found) return undefined;
  const reason = certificate ? `its certificate ${found[0]}` : found[0];
  const message = `No TLS connection to ${server}${host ? ` at ${host}` : ''}: ${reason} (${code}).`;
  const details = { server, code };
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, { delivered: 'no', cause, details, fix: found[1] });
}
