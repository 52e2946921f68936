import type { JsonObject } from '../core/call.ts';
import type { Message, Transport } from './json-rpc.ts';
import { Peer, type PeerOptions } from './peer.ts';

export interface Talk {
  readonly peer: Peer;
  readonly line: Transport;
  /** What the peer has sent so far. */
  readonly sent: JsonObject[];
  /** What the far end says; anything at all. */
  say(message: unknown): void;
}

/** A peer on a line whose far end is the test. */
export async function talk(options: Partial<PeerOptions> = {}, traits: Partial<Transport> = {}): Promise<Talk> {
  const sent: JsonObject[] = [];
  const line: Transport = {
    start: async () => {},
    send: async (message) => void sent.push(message),
    close: async () => line.onclose?.(),
    ...traits,
  };
  const peer = new Peer(line, { server: 'demo', ...options });
  await peer.start();
  return { peer, line, sent, say: (message) => line.onmessage?.(message as Message) };
}
