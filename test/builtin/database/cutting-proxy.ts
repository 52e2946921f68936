import { createServer, connect as dial, type Socket } from 'node:net';

/** The moment at which a proxy cuts all its connections. */
export type Cut =
  /** After this many chunks, counted in both directions. */
  | { readonly afterChunks: number }
  /** When the client sends this text: before it is passed on, after it, or when the server answers it. */
  | { readonly text: string; readonly at: 'before' | 'after' | 'answer' };

/** A proxy between a client and a database server. */
export interface CuttingProxy {
  readonly port: number;
  /** Plans the next cut. */
  arm(cut: Cut): void;
  disarm(): void;
  close(): Promise<void>;
}

/** Starts a proxy to a port of 127.0.0.1. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cut: Cut | undefined;
  let chunks = 0;
  let isTextSent = false;
  const cutAll = () => {
    cut = undefined;
    for (const socket of sockets) socket.destroy();
  };

  /** Passes a chunk on, or cuts. */
  function pass(chunk: Buffer, isFromClient: boolean, to: Socket): void {
    if (!cut || !('text' in cut)) {
      if (cut && ++chunks > cut.afterChunks) cutAll();
      else to.write(chunk);
      return;
    }
    const { text, at } = cut;
    const isText = isFromClient && chunk.includes(text);
    if ((isText && at === 'before') || (isTextSent && !isFromClient)) {
      cutAll();
      return;
    }
    isTextSent ||= isText;
    to.write(chunk, () => isText && at === 'after' && cutAll());
  }

  const server = createServer((client) => {
    const upstream = dial(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => pass(chunk, from === client, to));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    arm(next) {
      cut = next;
      chunks = 0;
      isTextSent = false;
    },
    disarm() {
      cut = undefined;
    },
    close() {
      cutAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
