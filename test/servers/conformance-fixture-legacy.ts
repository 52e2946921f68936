// The fixture in the era of sessions, by SDK 1.32: `node conformance-fixture-legacy.ts [--stdio]`.
import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type EventStore, StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  type JSONRPCMessage,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  ResultSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { JsonObject } from '../../src/core/call.ts';
import { Failure, INVALID_PARAMS, LISTS, lacking, named, type Round, SERVER, said } from './conformance-fixture.ts';
import { change, offered } from './conformance-fixture-changing.ts';
import { isHere } from './conformance-fixture-here.ts';
import { complete, RESOURCES, readResource, TEMPLATES } from './conformance-fixture-reading.ts';
import { type HttpServer, listen } from './http-servers.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const RESOURCE_NOT_FOUND = -32002;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** Every session: a change is told to all of them. */
const open = new Set<Server>();

function legacyServer(): Server {
  const server = new Server(SERVER, { capabilities: { ...LISTS, logging: {} } });
  let level = 'info';
  open.add(server);
  server.onclose = () => open.delete(server);
  const logs = () => LEVELS.indexOf(level) <= LEVELS.indexOf('info');
  const round = (extra: Extra) => roundOf(server, extra, logs);
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: offered('tools').map(({ definition }) => definition) as never,
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { run } = namedHere(offered('tools'), params.name);
    try {
      return await run((params.arguments ?? {}) as JsonObject, round(extra));
    } catch (thrown) {
      return { ...said(thrown instanceof Error ? thrown.message : String(thrown)), isError: true };
    }
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: offered('prompts').map(({ definition }) => definition),
  }));
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const { run } = namedHere(offered('prompts'), params.name);
    return (await run(params.arguments ?? {}, round(extra))) as never;
  });
  serveReading(server);
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  return server;
}

function serveReading(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: RESOURCES.map(({ definition }) => definition) as never,
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: TEMPLATES as never }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = readResource(uri);
    if (!found) throw new McpError(RESOURCE_NOT_FOUND, `There is nothing at ${uri}.`, { uri });
    return found as never;
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => complete(params as unknown as JsonObject) as never);
}

function roundOf(server: Server, extra: Extra, logs: () => boolean): Round {
  const capabilities = (server.getClientCapabilities() ?? {}) as JsonObject;
  const progressToken = extra._meta?.progressToken;
  const tell = (method: string, params: object) =>
    void extra.sendNotification({ method, params } as never).catch(() => {});
  const round: Round = {
    capabilities,
    signal: extra.signal,
    async ask(questions) {
      const asked = Object.entries(questions).map(async ([key, question]) => {
        const missing = lacking(capabilities, question);
        if (missing) throw new Error(`The client has no ${Object.keys(missing).join()}.`);
        return [key, await extra.sendRequest(question as never, ResultSchema)];
      });
      return Object.fromEntries(await Promise.all(asked));
    },
    log: (data) => logs() && tell('notifications/message', { level: 'info', logger: SERVER.name, data }),
    progress: (progress) =>
      progressToken !== undefined && tell('notifications/progress', { progressToken, progress, total: 100 }),
    changed(list) {
      change(list);
      for (const each of open) {
        void (list === 'tools' ? each.sendToolListChanged() : each.sendPromptListChanged()).catch(() => {});
      }
    },
    hangUp: () => extra.closeSSEStream?.(),
    inTask: (work) => work(round),
  };
  return round;
}

function namedHere(...[offers, name]: Parameters<typeof named>): ReturnType<typeof named> {
  try {
    return named(offers, name);
  } catch (thrown) {
    throw thrown instanceof Failure ? new McpError(INVALID_PARAMS, thrown.message) : thrown;
  }
}

/** What was said on each stream of a session, for clients that come back. */
function eventsOf(): EventStore {
  const events: { readonly stream: string; readonly message: JSONRPCMessage }[] = [];
  const streamOf = async (id: string) => events[Number(id)]?.stream;
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message }) - 1),
    getStreamIdForEventId: streamOf,
    async replayEventsAfter(id, { send }) {
      const stream = (await streamOf(id)) ?? '';
      for (const [at, event] of events.entries()) {
        const said = at > Number(id) && event.stream === stream && 'jsonrpc' in event.message;
        if (said) await send(String(at), event.message);
      }
      return stream;
    },
  };
}

/** The fixture over Streamable HTTP, with sessions. */
export function legacyFixture(): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const begin = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
      eventStore: eventsOf(),
      retryInterval: 100,
    });
    await legacyServer().connect(transport as never);
    return transport;
  };
  return listen(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await begin() : sessions.get(String(id));
    if (!isHere(request)) response.writeHead(403).end();
    else if (transport) await transport.handleRequest(request, response);
    else response.writeHead(404).end();
  });
}

if (import.meta.main) {
  if (process.argv.includes('--stdio')) await legacyServer().connect(new StdioServerTransport());
  else process.stdout.write(`${(await legacyFixture()).url}\n`);
}
