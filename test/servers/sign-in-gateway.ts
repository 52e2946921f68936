import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { gatewayUnderTest, modern, OWNER, TOKEN } from '../../src/gateway/fixtures.ts';
import { META } from '../../src/wire/mcp.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  openAuthorizationServer,
} from './authorization-server.ts';
import { openProtectedServer, type ProtectedServer, type ProtectedServerOptions } from './protected-server.ts';

export const AUDIENCE = 'https://gateway.example/mcp';
const GATEWAY_CLIENT = 'gateway';

export interface SignInGatewayOptions {
  readonly era?: ProtectedServerOptions['era'];
  /** True: callers have tokens of an issuer, and the gateway is a client of it. */
  readonly hasIssuer?: boolean;
  readonly issuer?: AuthorizationServerOptions;
  /** Further settings of the gateway. */
  readonly gateway?: JsonObject;
  readonly waitMs?: number;
  /** The servers of another gateway, which this one is a replica of. */
  readonly replicaOf?: { readonly authorizationServer: AuthorizationServer; readonly server: ProtectedServer };
  /** The database of all replicas. */
  readonly store?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Opens a server at which each caller needs an account, its authorization server, and a gateway with the server `notes`. */
export async function signInGateway(options: SignInGatewayOptions = {}) {
  const { era = 'modern', hasIssuer = false } = options;
  const { authorizationServer, server } = options.replicaOf ?? (await openServers(era));
  const issuer = hasIssuer ? await openGatewayIssuer(options.issuer) : undefined;
  const auth = issuer && {
    ...{ issuer: issuer.issuer, audience: AUDIENCE, clientId: GATEWAY_CLIENT, clientSecret: 'gateway-secret' },
  };
  const gateway = await gatewayUnderTest({
    config: {
      mcpServers: { notes: { type: 'http', url: server.url, oauth: { credentials: 'user' } } },
      gateway: { ...(auth && { auth }), ...options.gateway },
      ...(options.store !== undefined && { store: options.store }),
    },
    ...(options.env && { env: options.env }),
    ...(options.waitMs !== undefined && { gateway: { signInWait: { waitMs: options.waitMs } } }),
  });

  /** Returns the credential of a caller: the owner's token, an API key, or a token of the issuer. */
  async function credentialOf(name: string): Promise<string> {
    if (name === 'owner') return TOKEN;
    if (issuer) return issuer.issueAccessToken(name, AUDIENCE, 'app');
    return gateway.heddle.access.createKey(OWNER, { name, roles: ['user'] });
  }

  /** Calls a tool of the server with a credential, as a client that cannot show URLs. */
  async function call(
    credential: string,
    tool = 'whoami',
    capabilities: JsonObject = {},
    more: JsonObject = {},
  ): Promise<JsonObject> {
    const [message, headers] = modern('tools/call', { name: `mcp__notes__${tool}`, arguments: {} });
    const params = message.params as JsonObject;
    const _meta = { ...(params._meta as JsonObject), [META.clientCapabilities]: capabilities };
    const sent = { ...message, params: { ...params, ...more, _meta } };
    const { json } = await gateway.post(sent, { ...headers, authorization: `Bearer ${credential}` });
    return (json.result ?? json) as JsonObject;
  }

  return { authorizationServer, server, issuer, gateway, origin: new URL(gateway.url).origin, credentialOf, call };
}

async function openServers(era: ProtectedServerOptions['era']) {
  const authorizationServer = await openAuthorizationServer();
  onTestFinished(() => authorizationServer.close());
  const server = await openProtectedServer({ era, authorizationServers: [authorizationServer] });
  onTestFinished(() => server.close());
  return { authorizationServer, server };
}

async function openGatewayIssuer(options: AuthorizationServerOptions = {}) {
  const issuer = await openAuthorizationServer({
    jwtResources: [AUDIENCE],
    clients: [
      { client_id: 'app', client_secret: 'app-secret', redirect_uris: ['https://app.example/'] },
      {
        ...{ client_id: GATEWAY_CLIENT, client_secret: 'gateway-secret', grant_types: ['authorization_code'] },
        // A native client may use any port of 127.0.0.1.
        ...{ application_type: 'native', redirect_uris: ['http://127.0.0.1/oauth/callback'] },
      },
    ],
    ...options,
  });
  onTestFinished(() => issuer.close());
  return issuer;
}

/** Returns the text of a tool result. */
export const textOf = (result: JsonObject): string =>
  (Array.isArray(result.content) ? (result.content as JsonObject[]) : []).map(({ text }) => String(text)).join('\n');

/** Returns the address of the sign-in page in a text. */
export const pageIn = (text: string): string => /https?:\/\/\S+\/connect\/[\w-]+/.exec(text)?.[0] ?? '';
