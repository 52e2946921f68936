import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as LegacyMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { SubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer as ModernMcpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { JsonObject } from '../../src/core/call.ts';
import type { AuthorizationServer } from './authorization-server.ts';
import { sendJson } from './authorization-server-faults.ts';
import { checkDpop } from './check-dpop.ts';
import { listen } from './http-servers.ts';

export interface ProtectedServerOptions {
  readonly era: 'legacy' | 'modern';
  /** The authorization servers whose tokens it accepts, in the order of its metadata. */
  readonly authorizationServers: readonly Pick<AuthorizationServer, 'issuer' | 'introspect'>[];
  /** The scopes without which every request is refused with 403 `insufficient_scope`. */
  readonly requiredScopes?: readonly string[];
}

/** A refusal to send instead of the result. The header is left out if undefined. */
export interface ScriptedRefusal {
  readonly status: number;
  readonly challenge?: string;
  readonly body?: JsonObject;
}

/** The faults of a protected server. Tests set and delete them at any time. */
export interface ProtectedServerFaults {
  /** The status of its metadata documents. */
  metadataStatus?: number;
  /** Replaces fields of the protected-resource metadata; `null` removes one. */
  metadataFields?: JsonObject;
  /** The text of its metadata documents. */
  metadataText?: string;
  /** Redirects requests for its metadata. */
  metadataRedirect?: string;
  /** False: only the root well-known URL has the metadata. */
  hasPathMetadata?: boolean;
  /** Replaces the challenge of every refusal; `null` removes it. */
  challenge?: string | null;
  /** Refuses the next requests of MCP, in order, whatever their token. */
  refusals?: ScriptedRefusal[];
  /** Refuses every token that this returns true for. */
  refuses?: (token: string, rpcMethod: string | undefined) => boolean;
  /** Requires a DPoP nonce of this value. */
  dpopNonce?: string;
}

/** A request of MCP. */
export interface ProtectedRequest {
  readonly method: string;
  readonly rpcMethod?: string;
  /** The subject of its token; undefined if the request was refused. */
  readonly subject?: string;
  readonly token?: string;
  readonly headers: IncomingMessage['headers'];
}

export interface ProtectedServer {
  readonly url: string;
  /** The resource indicator in its metadata: its URL. */
  readonly resource: string;
  readonly faults: ProtectedServerFaults;
  readonly requests: readonly ProtectedRequest[];
  /** Adds a tool for one subject and sends `list_changed` to that subject alone. */
  addTool(subject: string, name: string): void;
  /** Sends `notifications/resources/updated` for `me://profile` to one subject. */
  notifyUpdated(subject: string): void;
  /** The number of open sockets. */
  connections(): Promise<number>;
  close(): Promise<void>;
}

export const PROFILE_URI = 'me://profile';

const textOf = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });

/** Tools and resources of one subject. */
interface SubjectServer {
  handle: RequestListener;
  toolsChanged(): void;
  profileChanged(): void;
  close(): Promise<void>;
}

/**
 * Starts an MCP server that accepts only tokens issued for its URL. Each subject has the tools `whoami`, `echo` and
 * `only_<subject>`, and the resource `me://profile`.
 */
export async function openProtectedServer(options: ProtectedServerOptions): Promise<ProtectedServer> {
  const faults: ProtectedServerFaults = {};
  const requests: ProtectedRequest[] = [];
  const subjects = new Map<string, SubjectServer>();
  const added = new Map<string, string[]>();
  const addedFor = (subject: string) => added.get(subject) ?? added.set(subject, []).get(subject) ?? [];
  const open = options.era === 'legacy' ? legacySubject : modernSubject;
  const serverOf = (subject: string) => {
    const known = subjects.get(subject) ?? open(subject, addedFor(subject));
    subjects.set(subject, known);
    return known;
  };
  let url = '';
  const guard = () => ({ ...options, url, faults });

  const server = await listen(async (request, response) => {
    if (request.url?.startsWith('/.well-known/')) return sendMetadata(guard(), request, response);
    const raw = request.method === 'POST' ? await text(request) : undefined;
    const body = raw === undefined ? undefined : (JSON.parse(raw) as { method?: string });
    const token = /^(?:Bearer|DPoP) (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const admitted = await admit(guard(), request, { token, rpcMethod: body?.method });
    requests.push({
      ...{ method: String(request.method), headers: request.headers },
      ...(body?.method !== undefined && { rpcMethod: body.method }),
      ...(token !== undefined && { token }),
      ...('subject' in admitted && { subject: admitted.subject }),
    });
    if ('status' in admitted) return refuse(guard(), response, admitted);
    Object.assign(request, { body });
    return serverOf(admitted.subject).handle(request, response);
  });
  url = server.url;
  return {
    url,
    resource: url,
    faults,
    requests,
    addTool(subject, name) {
      addedFor(subject).push(name);
      subjects.get(subject)?.toolsChanged();
    },
    notifyUpdated: (subject) => subjects.get(subject)?.profileChanged(),
    connections: server.connections,
    async close() {
      await Promise.all([...subjects.values()].map((one) => one.close()));
      await server.close();
    },
  };
}

interface Guard extends ProtectedServerOptions {
  readonly url: string;
  readonly faults: ProtectedServerFaults;
}

interface Refused extends ScriptedRefusal {
  readonly nonce?: string;
}

/** Decides about a request: the subject of its token, or how to refuse it. */
async function admit(
  { authorizationServers, requiredScopes = [], url, faults }: Guard,
  request: IncomingMessage,
  { token, rpcMethod }: { readonly token: string | undefined; readonly rpcMethod: string | undefined },
): Promise<{ readonly subject: string } | Refused> {
  const scripted = faults.refusals?.shift();
  if (scripted) return scripted;
  const metadata = `resource_metadata="${metadataUrl(url)}"`;
  if (token === undefined) return { status: 401, challenge: `Bearer ${metadata}` };
  const isWrong = { status: 401, challenge: `Bearer error="invalid_token", ${metadata}` };
  if (faults.refuses?.(token, rpcMethod)) return isWrong;
  const found = (await Promise.all(authorizationServers.map((one) => one.introspect(token)))).find(Boolean);
  if (!found || found.aud !== url) return isWrong;
  const problem = found.jkt === undefined ? undefined : await checkDpop(request, { ...found, token, url, ...faults });
  if (problem) return { status: 401, challenge: `DPoP error="${problem}", ${metadata}`, ...nonceOf(faults) };
  const scopes = found.scope?.split(' ') ?? [];
  if (requiredScopes.some((one) => !scopes.includes(one))) {
    const scope = `scope="${requiredScopes.join(' ')}"`;
    return { status: 403, challenge: `Bearer error="insufficient_scope", ${scope}, ${metadata}` };
  }
  return { subject: found.accountId ?? found.clientId };
}

const nonceOf = ({ dpopNonce }: ProtectedServerFaults) => (dpopNonce === undefined ? {} : { nonce: dpopNonce });

function metadataUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}/.well-known/oauth-protected-resource${pathname}`;
}

function refuse({ faults }: Guard, response: ServerResponse, { status, challenge, body, nonce }: Refused): void {
  const sent = faults.challenge === undefined ? challenge : (faults.challenge ?? undefined);
  if (sent !== undefined) response.setHeader('www-authenticate', sent);
  if (nonce !== undefined) response.setHeader('dpop-nonce', nonce);
  sendJson(response, status, body ?? { error: 'refused' });
}

function sendMetadata(
  { url, authorizationServers, requiredScopes, faults }: Guard,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const atPath = metadataUrl(url).endsWith(request.url ?? '');
  const isRoot = request.url === '/.well-known/oauth-protected-resource';
  if (faults.metadataRedirect) return void response.writeHead(302, { location: faults.metadataRedirect }).end();
  if (faults.metadataStatus !== undefined) return void sendJson(response, faults.metadataStatus, {});
  if (!(isRoot || (atPath && faults.hasPathMetadata !== false))) return void sendJson(response, 404, {});
  const document = {
    resource: url,
    authorization_servers: authorizationServers.map(({ issuer }) => issuer),
    bearer_methods_supported: ['header'],
    ...(requiredScopes && { scopes_supported: [...requiredScopes] }),
    ...faults.metadataFields,
  };
  const present = Object.fromEntries(Object.entries(document).filter(([, value]) => value !== null));
  response.writeHead(200, { 'content-type': 'application/json' }).end(faults.metadataText ?? JSON.stringify(present));
}

const CHANGING = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };
const INFO = { name: 'protected', version: '1' };

function modernSubject(subject: string, added: readonly string[]): SubjectServer {
  const handler = createMcpHandler(
    () => {
      const server = new ModernMcpServer(INFO, { capabilities: CHANGING });
      server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, (input) => textOf(input.text));
      for (const name of ['whoami', `only_${subject}`, ...added]) {
        server.registerTool(name, { annotations: { readOnlyHint: true } }, () => textOf(subject));
      }
      server.registerResource('profile', PROFILE_URI, {}, () => ({ contents: [{ uri: PROFILE_URI, text: subject }] }));
      return server;
    },
    { legacy: 'reject' },
  );
  const forward = toNodeHandler(handler) as (
    request: IncomingMessage,
    response: ServerResponse,
    body?: unknown,
  ) => void;
  return {
    handle: (request, response) => forward(request, response, (request as { body?: unknown }).body),
    toolsChanged: () => handler.notify.toolsChanged(),
    profileChanged: () => handler.notify.resourceUpdated(PROFILE_URI),
    close: () => handler.close(),
  };
}

function legacySubject(subject: string, added: readonly string[]): SubjectServer {
  const sessions = new Map<
    string,
    { readonly server: LegacyMcpServer; readonly transport: StreamableHTTPServerTransport }
  >();
  const whoami = (server: LegacyMcpServer, name: string) =>
    server.registerTool(name, { annotations: { readOnlyHint: true } }, () => textOf(subject));

  async function open() {
    const server = new LegacyMcpServer(INFO, { capabilities: CHANGING });
    server.registerTool('echo', { inputSchema: { text: z.string() } }, (input) => textOf(input.text));
    for (const name of ['whoami', `only_${subject}`, ...added]) whoami(server, name);
    server.registerResource('profile', PROFILE_URI, {}, () => ({ contents: [{ uri: PROFILE_URI, text: subject }] }));
    server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, { server, transport }),
    });
    await server.connect(transport as never);
    return transport;
  }

  return {
    async handle(request, response) {
      const known = sessions.get(String(request.headers['mcp-session-id']));
      const transport = known?.transport ?? (await open());
      await transport.handleRequest(request, response, (request as { body?: unknown }).body);
    },
    toolsChanged() {
      const name = added.at(-1);
      for (const { server } of sessions.values()) if (name) whoami(server, name);
    },
    profileChanged() {
      for (const { server } of sessions.values()) void server.server.sendResourceUpdated({ uri: PROFILE_URI });
    },
    close: async () => void (await Promise.all([...sessions.values()].map(({ server }) => server.close()))),
  };
}
