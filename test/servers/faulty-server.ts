import type { JsonObject } from '../../src/core/call.ts';
import { UpstreamError } from '../../src/core/errors.ts';
import type { Connect } from '../../src/upstream/connection.ts';
import { openConnection } from '../../src/upstream/protocol/open-connection.ts';
import { RpcError } from '../../src/wire/json-rpc.ts';
import { linkedPair } from '../../src/wire/linked-pair.ts';
import { recordingServer, text } from './recording-server.ts';

/** What goes wrong with one call. Only the first five leave it undone. */
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
  /** Told when the tool `act` has really run. */
  readonly onAct: (input: JsonObject) => void;
  /** Whether the next attempt to connect succeeds. */
  readonly accepts?: () => boolean;
}

const UNDELIVERED: Partial<Record<Fault, JsonObject>> = {
  'not-delivered': {},
  'session-gone': { sessionGone: true },
  'call-later': { retryAfterMs: 2000 },
};

/** A real server in this process. Each call carries, in `faults`, what is to happen to it at which server. */
export function faultyServer({ name, onAct, accepts = () => true }: FaultyOptions): Connect {
  const faultOf = (input: JsonObject) => (input.faults as Record<string, Fault> | undefined)?.[name] ?? 'works';

  return async function connectFaulty(options) {
    if (!accepts()) throw new UpstreamError('UPSTREAM_UNREACHABLE', `${name} is not there.`, { delivered: 'no' });
    const [near, far] = linkedPair();

    async function act(input: JsonObject): Promise<JsonObject> {
      const fault = faultOf(input);
      if (fault === 'refuses') throw new RpcError(-32000, 'It does not want to.');
      if (fault !== 'dies-before-acting') onAct(input);
      if (fault.startsWith('dies')) await far.close();
      if (fault === 'hangs-after-acting') await new Promise(() => {});
      return fault === 'tool-error' ? { ...text('no'), isError: true } : text(name);
    }

    const send = near.send.bind(near);
    near.send = async (message, sendOptions) => {
      const { arguments: input } = (message.params ?? {}) as { arguments?: JsonObject };
      const details = message.method === 'tools/call' && input ? UNDELIVERED[faultOf(input)] : undefined;
      if (details?.sessionGone) setImmediate(() => far.close()); // As every line does that lost its session.
      if (details) {
        if (details.sessionGone) setImmediate(() => void near.close()); // As every line does that says so.
        throw new UpstreamError('UPSTREAM_FAILED', `Nothing was written to ${name}.`, { delivered: 'no', details });
      }
      return send(message, sendOptions);
    };
    await recordingServer({ act }).connect(far);
    return openConnection({ ...options, transport: near });
  };
}
