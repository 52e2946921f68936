import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServerResponse as NodeResponse } from '../node-http.ts';
import { encodeLong, type UnsentBytes } from '../unsent-bytes.ts';

/** Returns the class of responses of Node's HTTP server, which count what their clients have not taken yet. */
export function countedResponses(unsent: UnsentBytes): typeof ServerResponse {
  return class CountedResponse<Request extends IncomingMessage = IncomingMessage> extends NodeResponse<Request> {
    callerId: string | undefined;
    /** Bytes that wait for the response of an earlier request on this connection. */
    #held = 0;
    #isCounting = false;

    override write(chunk: unknown, ...args: unknown[]): boolean {
      const isTaken = Reflect.apply(super.write, this, [encodeLong(chunk), ...args]) as boolean;
      this.#countLater();
      return isTaken;
    }

    override end(chunk?: unknown, ...args: unknown[]): this {
      Reflect.apply(super.end, this, [encodeLong(chunk), ...args]);
      this.#countLater();
      return this;
    }

    override assignSocket(...args: Parameters<ServerResponse['assignSocket']>): void {
      super.assignSocket(...args);
      this.#countLater();
    }

    /** Counts when Node has passed the writes of this turn to the system. */
    #countLater(): void {
      if (this.#isCounting || (this.#held === 0 && this.writableLength === 0)) return;
      this.#isCounting = true;
      process.nextTick(() => {
        this.#isCounting = false;
        const held = this.socket ? 0 : this.writableLength;
        unsent.count(this.req.socket, this.callerId, held - this.#held);
        this.#held = held;
      });
    }
  };
}
