import { appendFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/core/call.ts';
import type { InProcessServer } from '../../src/upstream/lifecycle/programmatic-servers.ts';
import type { Era } from '../../src/wire/mcp.ts';
import type { Transport } from '../../src/wire/transport.ts';
import { countingResponses, type Respond } from './counting-responses.ts';
import { listen } from './http-servers.ts';
import { sseServer } from './sse-servers.ts';
import { listenWs, transportOf } from './ws-servers.ts';

/** The era of a counting server, the project that uses it, and the file of its counts. */
export interface CountingPlace {
  readonly era: Era;
  readonly folder: string;
  readonly counts: string;
}

/** A counting server, and the configuration that reaches it. */
export interface OpenedServer {
  /** The entry in `mcpServers`; absent if the program itself runs the server. */
  readonly entry?: JsonObject;
  readonly inProcess?: InProcessServer;
  /** Further settings that the entry needs. */
  readonly settings?: JsonObject;
  close?(): Promise<void>;
}

const respondIn = ({ era, counts }: CountingPlace): Respond =>
  countingResponses({ era, count: (line) => appendFileSync(counts, `${line}\n`) });

export const countingStdio = async ({ era, counts }: CountingPlace): Promise<OpenedServer> => ({
  entry: {
    command: process.execPath,
    args: [join(import.meta.dirname, 'counting-server.mjs')],
    env: { COUNTS: counts, ERA: era },
  },
});

export async function countingHttp(place: CountingPlace): Promise<OpenedServer & { readonly url: string }> {
  const respond = respondIn(place);
  const { url, close } = await listen((request, response) => void answerPost(respond, request, response));
  return { url, entry: { type: 'http', url }, close };
}

export async function countingProxy(place: CountingPlace): Promise<OpenedServer> {
  const { url, close } = await countingHttp(place);
  const connectors = [{ name: 'hub', url: new URL('/servers', url).href, token: 'good' }];
  return { entry: { type: 'proxy', url }, settings: { connectors }, ...(close && { close }) };
}

export async function countingSse(place: CountingPlace): Promise<OpenedServer & { readonly url: string }> {
  const respond = respondIn(place);
  const { url, close } = await sseServer(async (transport) => {
    serve(respond, transport as unknown as Transport);
    await transport.start();
  });
  return { url, entry: { type: 'sse', url }, close };
}

export async function countingWs(place: CountingPlace): Promise<OpenedServer & { readonly url: string }> {
  const respond = respondIn(place);
  const { url, close } = await listenWs((socket) => serve(respond, transportOf(socket) as unknown as Transport));
  return { url, entry: { type: 'ws', url }, close };
}

/** Announces a counting server as an IDE that has the project open. */
export const countingIde =
  (transport: 'sse' | 'ws') =>
  async (place: CountingPlace): Promise<OpenedServer> => {
    const { url, close } = await (transport === 'ws' ? countingWs : countingSse)(place);
    const lockFolder = join(place.folder, 'ide');
    await mkdir(lockFolder);
    const content = { pid: process.pid, workspaceFolders: [place.folder], ideName: 'Editor', transport };
    await writeFile(join(lockFolder, `${new URL(url).port}.lock`), JSON.stringify(content));
    return { entry: { type: `${transport}-ide`, url, ide: { lockFolder } }, ...(close && { close }) };
  };

export async function countingInProcess(place: CountingPlace): Promise<OpenedServer> {
  const respond = respondIn(place);
  return {
    inProcess: {
      async connect(transport) {
        serve(respond, transport as unknown as Transport);
        await transport.start();
      },
    },
  };
}

function serve(respond: Respond, transport: Pick<Transport, 'onmessage' | 'send'>): void {
  transport.onmessage = (message) =>
    respond(message as unknown as JsonObject, (answer) => void transport.send(answer as never));
}

/** Answers a message with JSON. A subscription is an event stream that stays open. */
async function answerPost(respond: Respond, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const message: JsonObject = JSON.parse(await text(request));
  if (message.id === undefined) return void response.writeHead(202).end();
  respond(message, (answer) => {
    const body = JSON.stringify(answer);
    if (answer.id !== undefined) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${body}\n\n`);
  });
}
