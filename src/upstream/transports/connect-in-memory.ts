import { abortable } from '../../core/async/abortable.ts';
import { linkedPair } from '../../wire/linked-pair.ts';
import type { Transport } from '../../wire/transport.ts';
import type { Connect } from '../connection.ts';
import { openConnection } from '../protocol/open-connection.ts';

/** Gives an in-process server its transport. For an SDK server: `(transport) => server.connect(transport)`. */
export type Serve = (transport: Transport) => Promise<void>;

/** Connects to a server in this process. */
export function connectInMemory(serve: Serve): Connect {
  return async function connectInMemory(options) {
    const [near, far] = linkedPair();
    try {
      await abortable(serve(far), options.signal); // It may never settle.
    } catch (thrown) {
      await near.close();
      throw thrown;
    }
    return openConnection({ ...options, transport: near });
  };
}
