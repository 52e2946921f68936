import type { CredentialKind } from '../remembering-credential.ts';

/** The credential of an entry with an `Authorization` header: the transport sends it, and there is no other one. */
export const writtenHeaders = (server: string): CredentialKind => ({
  headersFor: () => ({}),
  onRefused: async () => false,
  fix: `Correct the \`Authorization\` header in \`headers\` of ${server}, or take it out to sign in with OAuth.`,
});
