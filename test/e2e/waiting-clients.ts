import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Client as NewClient } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { WebSocket } from 'ws';
import { META, MODERN_VERSION } from '../../src/wire/mcp.ts';
import { type Endpoint, newTransport, oldTransport } from '../servers/interactive-clients.ts';
import { TASKS } from '../servers/task-server.ts';
import { until } from '../until.ts';

type Result = Readonly<Record<string, unknown>>;

/** A form that a client shows. The test answers it in place of the user. */
export interface OpenForm {
  readonly message: string;
  /** Aborts when the gateway withdraws the form; only in the legacy era. */
  readonly signal: AbortSignal;
  answer(response: Result): void;
}

/** A client of the gateway whose calls wait for approvers. */
export interface WaitingClient {
  readonly forms: OpenForm[];
  /** Calls a tool of the counting server. Resolves with `ok`, or with the code of the error. */
  call(tool: string, key: string): Promise<string>;
  close(): Promise<void>;
}

const ME = { name: 'waiting', version: '0' };
const NO_TIMEOUT = { timeout: 600_000 };
const FORMS = { elicitation: { form: {} } };
const toolOf = (tool: string) => `mcp__counting__${tool}`;

/** Connects an SDK client. With `forms` it can show the form of an approval. */
export async function connectSdk(
  endpoint: Endpoint,
  { era, forms: hasForms }: { readonly era: 'legacy' | 'modern'; readonly forms: boolean },
): Promise<WaitingClient> {
  const forms: OpenForm[] = [];
  const show = (message: unknown, signal: AbortSignal) =>
    new Promise<Result>((answer) => forms.push({ message: String(message), signal, answer }));
  const capabilities = hasForms ? FORMS : {};
  if (era === 'legacy') {
    const client = new OldClient(ME, { capabilities });
    if (hasForms) {
      client.setRequestHandler(
        ElicitRequestSchema,
        ({ params }, { signal }) => show(params.message, signal) as Promise<never>,
      );
    }
    await client.connect((await oldTransport(endpoint)) as never);
    const call = (name: string, key: string) =>
      client.callTool({ name, arguments: { key } }, undefined, NO_TIMEOUT) as Promise<Result>;
    return { forms, call: (tool, key) => endOf(call(toolOf(tool), key)), close: () => client.close() };
  }
  const client = new NewClient(ME, { capabilities, versionNegotiation: { mode: { pin: MODERN_VERSION } } });
  if (hasForms) {
    const handler = ({ params }: { params: Result }, { mcpReq }: { mcpReq: { signal: AbortSignal } }) =>
      show(params.message, mcpReq.signal);
    client.setRequestHandler('elicitation/create', handler as never);
  }
  await client.connect((await newTransport(endpoint)) as never);
  const call = (name: string, key: string) => client.callTool({ name, arguments: { key } }, NO_TIMEOUT);
  return { forms, call: (tool, key) => endOf(call(toolOf(tool), key)), close: () => client.close() };
}

/** Returns `ok`, or the code in the text of an error result. */
export async function endOf(result: Promise<Result>): Promise<string> {
  try {
    return endIn(await result);
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

function endIn({ isError, content }: Result): string {
  if (isError !== true) return 'ok';
  const [{ text = '' } = {}] = content as readonly { readonly text?: string }[];
  return /^\[([A-Z_]+)\]/.exec(text)?.[1] ?? text;
}

/** A modern client that declares the tasks extension, without forms. SDK 2.4 does not accept tasks. */
export interface TaskClient extends WaitingClient {
  /** Begins a call and returns its task. */
  begin(tool: string, key: string): Promise<Result>;
  /** Polls a task until it has ended. */
  follow(taskId: unknown): Promise<string>;
  get(taskId: unknown): Promise<Result>;
}

type Send = (message: Result) => Promise<Result>;

export async function connectTasks(endpoint: Endpoint): Promise<TaskClient> {
  const { send, close } = await rawTransport(endpoint);
  const _meta = {
    [META.protocolVersion]: MODERN_VERSION,
    [META.clientInfo]: ME,
    [META.clientCapabilities]: { extensions: { [TASKS]: {} } },
  };
  let last = 0;
  async function request(method: string, params: Result): Promise<Result> {
    const { result, error } = await send({ jsonrpc: '2.0', id: ++last, method, params: { ...params, _meta } });
    if (error) throw new Error((error as Result).message as string);
    return result as Result;
  }
  const begin = (tool: string, key: string) => request('tools/call', { name: toolOf(tool), arguments: { key } });
  // A call whose server takes long to start would become a task before it waits.
  await until('the tools are listed', async () => ((await request('tools/list', {})).tools as unknown[]).length > 0);
  const get = (taskId: unknown) => request('tasks/get', { taskId });
  async function follow(taskId: unknown): Promise<string> {
    let task: Result = {};
    await until('the task has ended', async () => {
      task = await get(taskId);
      return task.status !== 'working';
    });
    return task.status === 'completed' ? endIn(task.result as Result) : String(task.status);
  }
  return { forms: [], begin, follow, get, call: async (tool, key) => follow((await begin(tool, key)).taskId), close };
}

async function rawTransport(endpoint: Endpoint): Promise<{ readonly send: Send; close(): Promise<void> }> {
  if (endpoint.transport === 'http') return { send: overHttp(endpoint), close: async () => {} };
  const waiting = new Map<unknown, (message: Result) => void>();
  const receive = (text: string) => {
    const message = JSON.parse(text) as Result;
    waiting.get(message.id)?.(message);
  };
  const sendWith =
    (write: (text: string) => void): Send =>
    (message) =>
      new Promise((resolve) => {
        waiting.set(message.id, resolve);
        write(JSON.stringify(message));
      });
  if (endpoint.transport === 'stdio') {
    const { command, args, cwd, env } = endpoint;
    const child: ChildProcess = spawn(command, args, { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'ignore'] });
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', receive);
    const close = async () => {
      child.stdin?.end();
      if (child.exitCode === null) await once(child, 'exit');
    };
    return { send: sendWith((text) => child.stdin?.write(`${text}\n`)), close };
  }
  const { url, token } = endpoint;
  const socket = new WebSocket(url.replace('http:', 'ws:'), ['mcp'], { headers: { authorization: `Bearer ${token}` } });
  await once(socket, 'open');
  socket.on('message', (text) => receive(String(text)));
  return { send: sendWith((text) => socket.send(text)), close: async () => socket.terminate() };
}

const overHttp =
  ({ url, token }: { readonly url: string; readonly token?: string }): Send =>
  async (message) => {
    const { name, taskId } = message.params as Result;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': MODERN_VERSION,
        'mcp-method': String(message.method),
        ...(name === undefined && taskId === undefined ? {} : { 'mcp-name': String(name ?? taskId) }),
      },
      body: JSON.stringify(message),
    });
    const text = await response.text();
    const [data = text] = text
      .split('\n')
      .flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
      .slice(-1);
    return JSON.parse(data) as Result;
  };
