import type { JsonObject } from '../core/call.ts';
import type { Message } from './json-rpc.ts';
import { Peer, type PeerOptions } from './peer.ts';
import type { Transport } from './transport.ts';

export interface Talk {
  readonly peer: Peer;
  readonly transport: Transport;
  /** The messages that the peer has sent. */
  readonly sent: JsonObject[];
  /** Delivers a message of the far end; any value. */
  receive(message: unknown): void;
}

/** Opens a peer on a transport whose far end is the test. */
export async function talk(options: Partial<PeerOptions> = {}, traits: Partial<Transport> = {}): Promise<Talk> {
  const sent: JsonObject[] = [];
  const transport: Transport = {
    start: async () => {},
    send: async (message) => void sent.push(message),
    close: async () => transport.onclose?.(),
    ...traits,
  };
  const peer = new Peer(transport, { server: 'demo', ...options });
  await peer.start();
  return { peer, transport, sent, receive: (message) => transport.onmessage?.(message as Message) };
}
