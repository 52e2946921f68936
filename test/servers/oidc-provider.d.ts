// The parts of oidc-provider that the tests use. The package has no types of its own.
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface StoredToken {
    readonly accountId?: string;
    readonly clientId: string;
    readonly aud?: string;
    readonly scope?: string;
    readonly exp: number;
    readonly jkt?: string;
    readonly grantId?: string;
    readonly isValid: boolean;
  }

  interface IssuedToken {
    resourceServer?: unknown;
    scope?: string;
    readonly expiration: number;
    readonly tokenType: string;
    setThumbprint(kind: 'jkt', thumbprint: string): void;
    save(): Promise<string>;
  }

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface TokenModel {
    new (fields: object): IssuedToken;
    find(value: string): Promise<StoredToken | undefined>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  interface Interaction {
    readonly prompt: { readonly name: string };
    readonly params: Readonly<Record<string, string | undefined>>;
    readonly session?: { readonly accountId: string };
  }

  interface GrantContext {
    readonly oidc: {
      readonly params: Readonly<Record<string, string | undefined>>;
      readonly client: { readonly clientId: string };
    };
    body: unknown;
  }

  class Provider {
    constructor(issuer: string, configuration: object);
    readonly AccessToken: TokenModel;
    readonly ClientCredentials: TokenModel;
    readonly RefreshToken: TokenModel;
    readonly Client: { find(id: string): Promise<object | undefined> };
    readonly Grant: new (
      fields: object,
    ) => Grant;
    readonly ResourceServer: new (
      identifier: string,
      fields: object,
    ) => object;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    on(event: string, listener: (...args: unknown[]) => void): void;
    registerGrantType(name: string, handler: (ctx: GrantContext) => Promise<void>, parameters: readonly string[]): void;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }

  class CustomOIDCProviderError extends Error {
    constructor(error: string, description: string);
  }

  const errors: { readonly CustomOIDCProviderError: typeof CustomOIDCProviderError };
}
