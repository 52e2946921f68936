import type { JsonObject } from '../../src/core/call.ts';
import { UpstreamError } from '../../src/core/errors.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { openConnection } from '../../src/upstream/protocol/open-connection.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { linkedPair } from '../../src/wire/linked-pair.ts';
import { recordingServer, text } from './recording-server.ts';

/** The faults of one call. After the first five the tool has not run. */
export const FAULTS = [
  'not-delivered',
  'session-gone',
  'call-later',
  'dies-before-acting',
  'refuses',
  'works',
  'tool-error',
  'dies-after-acting',
  'hangs-after-acting',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface FaultyOptions {
  readonly name: string;
  /** Called when the tool `act` has run. */
  readonly onAct: (input: JsonObject) => void;
  /** Decides if the next connection attempt succeeds. */
  readonly accepts?: () => boolean;
}

const UNDELIVERED: Partial<Record<Fault, JsonObject>> = {
  'not-delivered': {},
  'session-gone': { sessionGone: true },
  'call-later': { retryAfterMs: 2000 },
};

/** Connects to a server in this process. The call argument `faults` holds the fault of each server by name. */
export function faultyServer({ name, onAct, accepts = () => true }: FaultyOptions): Connect {
  const faultOf = (input: JsonObject) => (input.faults as Record<string, Fault> | undefined)?.[name] ?? 'works';

  return async function connectFaulty(options) {
    if (!accepts()) throw new UpstreamError('UPSTREAM_UNREACHABLE', `${name} is unreachable.`, { delivered: 'no' });
    const [near, far] = linkedPair();

    async function act(input: JsonObject): Promise<JsonObject> {
      const fault = faultOf(input);
      if (fault === 'refuses') throw new RpcError(-32000, 'The server refuses the call.');
      if (fault !== 'dies-before-acting') onAct(input);
      if (fault.startsWith('dies')) await far.close();
      if (fault === 'hangs-after-acting') await new Promise(() => {});
      return fault === 'tool-error' ? { ...text('no'), isError: true } : text(name);
    }

    const send = near.send.bind(near);
    near.send = async (message, sendOptions) => {
      const { arguments: input } = (message.params ?? {}) as { arguments?: JsonObject };
      const details = message.method === 'tools/call' && input ? UNDELIVERED[faultOf(input)] : undefined;
      if (details?.sessionGone) setImmediate(() => far.close()); // The server ends the connection of a lost session.
      if (details) {
        if (details.sessionGone) setImmediate(() => void near.close()); // A transport closes when it reports a lost session.
        throw new UpstreamError('UPSTREAM_FAILED', `Nothing was written to ${name}.`, { delivered: 'no', details });
      }
      return send(message, sendOptions);
    };
    await recordingServer({ act }).connect(far);
    return openConnection({ ...options, transport: near });
  };
}
