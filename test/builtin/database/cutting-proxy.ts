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
  /** Passes nothing on after a client sends this text, or the server this many bytes. Connections stay open. */
  silenceAt(limit: string | number): void;
  isSilent(): boolean;
  /** Returns the count of open connections of clients. */
  open(): number;
  close(): Promise<void>;
}

/** Starts a proxy to a port of 127.0.0.1. */
export async function startCuttingProxy(target: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cut: Cut | undefined;
  let chunks = 0;
  let isTextSent = false;
  let silence: string | number = Number.POSITIVE_INFINITY;
  let isSilent = false;
  const cutAll = () => {
    cut = undefined;
    for (const socket of sockets) socket.destroy();
  };

  /** Passes a chunk on unless the proxy is silent. */
  function passUnlessSilent(chunk: Buffer, isFromClient: boolean, to: Socket): void {
    if (typeof silence === 'number' && !isFromClient) silence -= chunk.length;
    isSilent ||= typeof silence === 'string' ? isFromClient && chunk.includes(silence) : silence < 0;
    if (!isSilent) pass(chunk, isFromClient, to);
  }

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
      from.on('data', (chunk) => passUnlessSilent(chunk, from === client, to));
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
    silenceAt(limit) {
      silence = limit;
    },
    isSilent: () => isSilent,
    open: () => sockets.size / 2,
    close() {
      cutAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
