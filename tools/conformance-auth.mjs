// The minimum of passed checks per scenario about signing in. A scenario also counts requests, and the number of requests
// may differ by the listening stream, so the minimum is a little lower than what passes.

/** The 14 scenarios that count for the revision 2025-11-25. */
export const AUTH_2025 = {
  'auth/metadata-default': 17,
  'auth/metadata-var1': 17,
  'auth/metadata-var2': 17,
  'auth/metadata-var3': 17,
  'auth/basic-cimd': 12,
  'auth/scope-from-www-authenticate': 13,
  'auth/scope-from-scopes-supported': 13,
  'auth/scope-omitted-when-undefined': 13,
  'auth/scope-step-up': 23,
  'auth/scope-retry-limit': 15,
  'auth/token-endpoint-auth-basic': 18,
  'auth/token-endpoint-auth-post': 18,
  'auth/token-endpoint-auth-none': 18,
  'auth/pre-registration': 12,
};

/** The 25 scenarios that count for the revision 2026-07-28. */
export const AUTH_2026 = {
  'auth/metadata-default': 16,
  'auth/metadata-var1': 16,
  'auth/metadata-var2': 16,
  'auth/metadata-var3': 16,
  'auth/basic-cimd': 10,
  'auth/scope-from-www-authenticate': 12,
  'auth/scope-from-scopes-supported': 12,
  'auth/scope-omitted-when-undefined': 12,
  'auth/scope-step-up': 26,
  'auth/scope-retry-limit': 16,
  'auth/token-endpoint-auth-basic': 17,
  'auth/token-endpoint-auth-post': 17,
  'auth/token-endpoint-auth-none': 17,
  'auth/pre-registration': 10,
  'auth/resource-mismatch': 2,
  'auth/offline-access-scope': 13,
  'auth/offline-access-not-supported': 12,
  'auth/authorization-server-migration': 29,
  'auth/iss-supported': 12,
  'auth/iss-not-advertised': 12,
  'auth/iss-supported-missing': 7,
  'auth/iss-wrong-issuer': 7,
  'auth/iss-unexpected': 7,
  'auth/iss-normalized': 7,
  'auth/metadata-issuer-mismatch': 3,
};

/** The six scenarios of extensions, which count for no revision. */
export const AUTH_EXTENSIONS = {
  'auth/client-credentials-jwt': 6,
  'auth/client-credentials-basic': 6,
  'auth/enterprise-managed-authorization': 7,
  'auth/dpop': 9,
  'auth/dpop-nonce': 11,
  'auth/wif-jwt-bearer': 6,
};

/** The two scenarios of a server without protected-resource metadata. */
export const AUTH_2025_03 = {
  'auth/2025-03-26-oauth-metadata-backcompat': 11,
  'auth/2025-03-26-oauth-endpoint-fallback': 8,
};
