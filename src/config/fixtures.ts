import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { crc32, deflateRawSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import type { Config } from './config.ts';
import { loadConfig } from './load.ts';
import type { LoadOptions } from './sources-found.ts';

export interface Machine {
  readonly folder: string;
  path(name: string): string;
  load(options?: Partial<LoadOptions>): Promise<Config>;
}

/** A zip archive, packed the plain way. */
export function zipOf(files: Readonly<Record<string, string>>): Buffer {
  return packed(Object.entries(files).map(([name, text]) => ({ name, text })));
}

export interface Packed {
  readonly name: string;
  readonly text: string;
  /** Unix mode, for what is not a plain file. */
  readonly mode?: number;
  readonly method?: number;
  readonly crc?: number;
  readonly size?: number;
  readonly flags?: number;
  readonly localName?: string;
}

/** A zip archive that may lie about what is in it. */
export function packed(files: readonly Packed[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, text, mode = 0o100644, method = 8, flags = 0, localName = name, ...lies } of files) {
    const plain = Buffer.from(text);
    const data = method === 8 ? deflateRawSync(plain) : plain;
    const facts = Buffer.alloc(12);
    facts.writeUInt32LE(lies.crc ?? crc32(plain), 0);
    facts.writeUInt32LE(data.length, 4);
    facts.writeUInt32LE(lies.size ?? plain.length, 8);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(method, 8);
    facts.copy(local, 14);
    local.writeUInt16LE(Buffer.byteLength(localName), 26);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt8(3, 5);
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(method, 10);
    facts.copy(entry, 16);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entry.writeUInt32LE(mode * 0x10000, 38);
    entry.writeUInt32LE(offset, 42);
    central.push(entry, Buffer.from(name));
    locals.push(local, Buffer.from(localName), data);
    offset += local.length + Buffer.byteLength(localName) + data.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(central).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...central, end]);
}

/** A folder with a project in `project/` and a user in `user/`; gone when the test ends. */
export async function machineWith(files: Readonly<Record<string, string | Uint8Array | object>>): Promise<Machine> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'heddle-config-')));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  await mkdir(path('project/.git'), { recursive: true });
  await mkdir(path('user/.heddle'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(path(name)), { recursive: true });
    const isText = typeof content === 'string' || content instanceof Uint8Array;
    await writeFile(path(name), isText ? content : JSON.stringify(content, null, 2));
  }
  return {
    folder,
    path,
    load: (options = {}) =>
      loadConfig({
        cwd: path('project'),
        home: path('user/.heddle'),
        userHome: path('user'),
        systemFolder: path('etc'),
        env: {},
        ...options,
      }),
  };
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Opens a connector whose answer can be changed, and that keeps its requests. */
export async function connector(first: Answer) {
  const asked: IncomingMessage[] = [];
  let answer = first;
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const answers = (next: Answer) => {
    answer = next;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/servers?token=hidden`;
  return { url, asked, answers };
}

/** Answers a connector's request with this content. */
export const servers =
  (content: object, etag = '"1"'): Answer =>
  (request, response) => {
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
    else response.writeHead(200, { etag }).end(JSON.stringify(content));
  };
