import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';

/** The upstream in a configuration file: a program to start, or an address. */
export interface Upstream {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
}

/** Reads the upstream from the configuration file of the candidates. */
export function readUpstream(file: string | undefined): Upstream {
  if (file === undefined) throw new Error('Name a configuration file.');
  const { mcpServers }: { mcpServers: Record<string, Upstream> } = JSON.parse(readFileSync(file, 'utf8'));
  const [upstream] = Object.values(mcpServers);
  if (!upstream) throw new Error(`${file} names no server.`);
  return upstream;
}

/** Listens on a free port and prints its URL as a line of JSON, like `heddle up --json`. */
export function announce(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}/mcp` })}\n`);
  });
}

/** Calls `onText` with the whole body. Uses callbacks instead of promises, to keep the cost of the baselines low. */
export function readText(request: IncomingMessage, onText: (text: string) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => onText(Buffer.concat(chunks).toString('utf8')));
}

/** Calls `onLine` for each line of a stream, and `onChunk` after the last line of a chunk. */
export function readLines(stream: Readable, onLine: (line: string) => void, onChunk?: () => void): void {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      if (end > start) onLine(text.slice(start, end));
      start = end + 1;
    }
    text = text.slice(start);
    onChunk?.();
  });
}
