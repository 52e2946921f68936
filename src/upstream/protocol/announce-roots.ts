import type { Peer } from '../../wire/peer.ts';
import type { ServerRequests } from '../elicitation/server-requests.ts';

/**
 * Notifies a server when the configured roots change, while its connection is open. Returns a function that sends the same
 * notification when the client's roots change. All changes during a send cause one more notification.
 */
export function announceRoots(peer: Peer, serverRequests: Pick<ServerRequests, 'onRootsChanged'>): () => void {
  let isSending = false;
  let isChanged = false;

  async function send(): Promise<void> {
    isSending = true;
    while (isChanged) {
      isChanged = false;
      await peer.notify('notifications/roots/list_changed').catch(() => {}); // A lost connection is opened anew, and lists the new roots.
    }
    isSending = false;
  }

  function rootsChanged(): void {
    isChanged = true;
    if (!isSending) void send();
  }

  peer.closed.then(serverRequests.onRootsChanged(rootsChanged));
  return rootsChanged;
}
