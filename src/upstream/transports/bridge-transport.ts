import { UpstreamError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Message } from '../../wire/json-rpc.ts';
import type { Transport } from '../../wire/transport.ts';
import type { Serve } from './connect-in-memory.ts';

/** A transport that a program makes: the members that the transports of all SDK versions share, so that none needs a cast. */
export interface ProgramTransport {
  onmessage?: ((message: never, extra?: never) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  start(): Promise<void>;
  send(message: never, options?: never): Promise<void>;
  close(): Promise<void>;
  /** Receives the version that the server chose, for a header of later requests. */
  setProtocolVersion?: ((version: string) => void) | undefined;
}

/** A server behind a transport of the program. */
export interface TransportServer {
  /** Makes a transport that is not started. Called for every connection, so also after a loss. */
  transport(): ProgramTransport | Promise<ProgramTransport>;
}

const LONG_MS = 2 ** 31 - 1;

/** Returns a function that passes messages between Heddle's end and a new transport of the program. */
export function bridgeTo(name: string, server: TransportServer): Serve {
  return async function bridge(near) {
    let isClosed = false;
    let own: ProgramTransport | undefined;
    // Until the handshake ends nothing else may keep the process alive: timers do not, and not every transport has a socket.
    const alive = setInterval(() => {}, LONG_MS);
    const isAnswering = () => clearInterval(alive);
    near.onclose = () => {
      isClosed = true;
      isAnswering();
      if (own) close(own);
    };
    try {
      own = await server.transport();
      if (isClosed) return close(own); // The connect was given up before.
      connectEnds(own, near, isAnswering);
      await own.start();
      await near.start();
    } catch (cause) {
      isAnswering();
      const reason = cause instanceof Error ? cause.message : String(cause);
      const message = `The transport of ${name} cannot be opened: ${reason.replace(/[.!?]?$/, (end) => end || '.')}`;
      const fix = `Correct the function \`transport\` that the program passes for ${name}.`;
      throw new UpstreamError('UPSTREAM_UNREACHABLE', message, {
        delivered: 'no',
        cause,
        details: { server: name },
        fix,
      });
    }
  };
}

function connectEnds(own: ProgramTransport, near: Transport, onAnswer: () => void): void {
  own.onclose = () => void near.close();
  own.onerror = () => {}; // Not fatal by the interface. A transport that ends calls `onclose`.
  own.onmessage = (message: Message) => {
    onAnswer();
    const result = isObject(message) ? message.result : undefined;
    if (isObject(result) && typeof result.protocolVersion === 'string')
      own.setProtocolVersion?.(result.protocolVersion);
    near.send(message).catch(() => {}); // Heddle has closed its end.
  };
  // A failed send may mean that the session is gone. The next call opens another transport.
  near.onmessage = (message) => void send(own, message).catch(() => near.close());
}

// Async functions: one of the program may throw instead of rejecting.
const send = async (own: ProgramTransport, message: Message) => own.send(message as never);
const close = (own: ProgramTransport) => void (async () => own.close())().catch(() => {});
