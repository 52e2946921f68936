// The fixture in the legacy era, on SDK 1.32: `node conformance-fixture-legacy.ts [--stdio]`.
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
import {
  Failure,
  findEntry,
  INVALID_PARAMS,
  LISTS,
  missingCapability,
  SERVER,
  type ToolContext,
  textResult,
} from './conformance-fixture.ts';
import { isLocalRequest } from './conformance-fixture-host.ts';
import { currentEntries, toggleEntry } from './conformance-fixture-lists.ts';
import { complete, RESOURCES, readResource, TEMPLATES } from './conformance-fixture-resources.ts';
import { type HttpServer, listen } from './http-servers.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const RESOURCE_NOT_FOUND = -32002;
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
/** The open sessions. A list change is sent to all of them. */
const sessionServers = new Set<Server>();

function legacyServer(): Server {
  const server = new Server(SERVER, { capabilities: { ...LISTS, logging: {} } });
  let level = 'info';
  sessionServers.add(server);
  server.onclose = () => sessionServers.delete(server);
  const logsInfo = () => LEVELS.indexOf(level) <= LEVELS.indexOf('info');
  const context = (extra: Extra) => toContext(server, extra, logsInfo);
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: currentEntries('tools').map(({ definition }) => definition) as never,
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { run } = findEntryOrFail(currentEntries('tools'), params.name);
    try {
      return await run((params.arguments ?? {}) as JsonObject, context(extra));
    } catch (thrown) {
      return { ...textResult(thrown instanceof Error ? thrown.message : String(thrown)), isError: true };
    }
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: currentEntries('prompts').map(({ definition }) => definition),
  }));
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const { run } = findEntryOrFail(currentEntries('prompts'), params.name);
    return (await run(params.arguments ?? {}, context(extra))) as never;
  });
  serveResources(server);
  server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
    level = params.level;
    return {};
  });
  return server;
}

function serveResources(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: RESOURCES.map(({ definition }) => definition) as never,
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: TEMPLATES as never }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const found = readResource(uri);
    if (!found) throw new McpError(RESOURCE_NOT_FOUND, `There is no resource at ${uri}.`, { uri });
    return found as never;
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => complete(params as unknown as JsonObject) as never);
}

function toContext(server: Server, extra: Extra, logsInfo: () => boolean): ToolContext {
  const capabilities = (server.getClientCapabilities() ?? {}) as JsonObject;
  const progressToken = extra._meta?.progressToken;
  const notify = (method: string, params: object) =>
    void extra.sendNotification({ method, params } as never).catch(() => {});
  const context: ToolContext = {
    capabilities,
    signal: extra.signal,
    async requestInput(inputRequests) {
      const responses = Object.entries(inputRequests).map(async ([key, inputRequest]) => {
        const missing = missingCapability(capabilities, inputRequest);
        if (missing) throw new Error(`The client has no ${Object.keys(missing).join()}.`);
        return [key, await extra.sendRequest(inputRequest as never, ResultSchema)];
      });
      return Object.fromEntries(await Promise.all(responses));
    },
    log: (data) => logsInfo() && notify('notifications/message', { level: 'info', logger: SERVER.name, data }),
    progress: (progress) =>
      progressToken !== undefined && notify('notifications/progress', { progressToken, progress, total: 100 }),
    changeList(list) {
      toggleEntry(list);
      for (const each of sessionServers) {
        void (list === 'tools' ? each.sendToolListChanged() : each.sendPromptListChanged()).catch(() => {});
      }
    },
    closeStream: () => extra.closeSSEStream?.(),
    inTask: (work) => work(context),
  };
  return context;
}

function findEntryOrFail(...[entries, name]: Parameters<typeof findEntry>): ReturnType<typeof findEntry> {
  try {
    return findEntry(entries, name);
  } catch (thrown) {
    throw thrown instanceof Failure ? new McpError(INVALID_PARAMS, thrown.message) : thrown;
  }
}

/** Creates the event store of a session, from which a client resumes with Last-Event-ID. */
function createEventStore(): EventStore {
  const events: { readonly stream: string; readonly message: JSONRPCMessage }[] = [];
  const streamOf = async (id: string) => events[Number(id)]?.stream;
  return {
    storeEvent: async (stream, message) => String(events.push({ stream, message }) - 1),
    getStreamIdForEventId: streamOf,
    async replayEventsAfter(id, { send }) {
      const stream = (await streamOf(id)) ?? '';
      for (const [at, event] of events.entries()) {
        const isMissed = at > Number(id) && event.stream === stream && 'jsonrpc' in event.message;
        if (isMissed) await send(String(at), event.message);
      }
      return stream;
    },
  };
}

/** The fixture over Streamable HTTP, with sessions. */
export function legacyFixture(): Promise<HttpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const openSession = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
      eventStore: createEventStore(),
      retryInterval: 100,
    });
    await legacyServer().connect(transport as never);
    return transport;
  };
  return listen(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? await openSession() : sessions.get(String(id));
    if (!isLocalRequest(request)) response.writeHead(403).end();
    else if (transport) await transport.handleRequest(request, response);
    else response.writeHead(404).end();
  });
}

if (import.meta.main) {
  if (process.argv.includes('--stdio')) await legacyServer().connect(new StdioServerTransport());
  else process.stdout.write(`${(await legacyFixture()).url}\n`);
}
