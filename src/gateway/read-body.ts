import type { IncomingMessage } from 'node:http';

/** The whole body as text; undefined when it is over the limit, and then the rest is not kept. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(undefined);
      }
    });
    request.on('error', reject);
    request.on('end', () => {
      const [first] = chunks;
      resolve((first && chunks.length === 1 ? first : Buffer.concat(chunks)).toString('utf8'));
    });
  });
}
