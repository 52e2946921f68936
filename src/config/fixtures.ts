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

/** Makes a zip archive of these files. */
export function zipOf(files: Readonly<Record<string, string>>): Buffer {
  return packed(Object.entries(files).map(([name, text]) => ({ name, text })));
}

export interface Packed {
  readonly name: string;
  readonly text: string;
  /** Unix mode, for entries that are not regular files. */
  readonly mode?: number;
  readonly method?: number;
  readonly crc?: number;
  readonly size?: number;
  readonly flags?: number;
  readonly localName?: string;
}

/** Makes a zip archive whose headers may contradict its content. */
export function packed(files: readonly Packed[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, text, mode = 0o100644, method = 8, flags = 0, localName = name, ...wrong } of files) {
    const plain = Buffer.from(text);
    const data = method === 8 ? deflateRawSync(plain) : plain;
    const facts = Buffer.alloc(12);
    facts.writeUInt32LE(wrong.crc ?? crc32(plain), 0);
    facts.writeUInt32LE(data.length, 4);
    facts.writeUInt32LE(wrong.size ?? plain.length, 8);
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

/** Makes a folder with a project in `project/` and a user's home in `user/`; removed when the test ends. */
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

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** Starts the HTTP server of a connector. It records its requests; `respondWith` changes its response. */
export async function connector(first: Respond) {
  const requests: IncomingMessage[] = [];
  let respond = first;
  const server = createServer((request, response) => {
    requests.push(request);
    respond(request, response);
  });
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const respondWith = (next: Respond) => {
    respond = next;
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/servers?token=hidden`;
  return { url, requests, respondWith };
}

/** Responds to a connector's request with this content, or with 304 if `if-none-match` has this etag. */
export const servers =
  (content: object, etag = '"1"'): Respond =>
  (request, response) => {
    if (request.headers['if-none-match'] === etag) response.writeHead(304).end();
    else response.writeHead(200, { etag }).end(JSON.stringify(content));
  };
