import type { Config } from '../../config/config.ts';
import type { CalledTarget, WireResult } from '../../console/command-wire.ts';
import { toWireCall } from '../../console/command-wire.ts';
import { feed } from '../../core/async/feed.ts';
import { isTaskPoll } from '../../core/call/task.ts';
import type { Call, ClientCapabilities, JsonObject, Result, Target } from '../../core/call.ts';
import { HeddleError, UpstreamError } from '../../core/errors.ts';
import type { Approval } from '../../core/records/approval.ts';
import type { Category, Hit, Page } from '../../core/records/listing.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import type { HidingRule } from '../../heddle.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { type GatewayClient, GatewayLost } from './gateway-client.ts';
import { type ReadRemote, remoteRuns, remoteWorkflows } from './remote-runs.ts';

export interface RemoteOptions {
  readonly config: Config;
  /** True to wait for servers never seen; false to start none. */
  readonly wait: boolean;
  /** The client capabilities of the command. */
  readonly capabilities?: ClientCapabilities | undefined;
}

/** Returns the Heddle of a running gateway. The configuration is the command's own, which is the same. */
export function remoteHeddle(client: GatewayClient, { config, wait, capabilities }: RemoteOptions): CommandHeddle {
  const starting = feed<readonly string[]>();
  const common = { wait, ...(capabilities && { capabilities }) };

  const read: ReadRemote = async (route, body, { signal, onMessage } = {}) => {
    try {
      const result = await client.send(route, {
        body: { ...common, ...(process.stderr.isTTY && { starting: true }), ...body },
        signal,
        onMessage(line) {
          if (line.starting) starting.publish(line.starting);
          else onMessage?.(line);
        },
      });
      return result as never;
    } catch (thrown) {
      if (signal?.aborted) throw new HeddleError('CALL_CANCELLED', 'The call was cancelled while it waited.');
      throw thrown instanceof GatewayLost ? lostGateway(client) : thrown;
    }
  };

  return {
    dispatch: (call) =>
      dispatch(client, call, { ...common, ...(call.capabilities && { capabilities: call.capabilities }) }),
    catalog: {
      list: (_by, { signal, waitMs, ...query }) =>
        read<Page<Target>>('list', { ...query, ...(waitMs !== undefined && { wait: waitMs > 0 }) }, { signal }),
      describe: (_by, name, signal) => read<Target>('describe', { name }, { signal }),
      known: async (_by, name) => (await read<Target | null>('known', { name })) ?? undefined,
      search: (_by, { text, limit, signal }) =>
        read<readonly Hit[]>('search', { text, ...(limit !== undefined && { limit }) }, { signal }),
      categories: (_by, signal) => read<readonly Category[]>('categories', {}, { signal }),
      hiddenBy: async (_by, name) => (await read<HidingRule | null>('hidden-by', { name })) ?? undefined,
    },
    servers: {
      list: () => read<readonly ServerStatus[]>('servers', {}),
      connect: (_by, name, signal) => read<ServerStatus>('connect', { name }, { signal }),
    },
    approvals: {
      get: (_by, id) => read<Approval>('approval', { approval: id }),
      decide: (_by, id, verdict) => read<Approval>('decide', { approval: id, ...verdict }),
      settled: (_by, id, signal) => read<Approval>('settled', { approval: id }, { signal }),
    },
    workflows: remoteWorkflows(read),
    runs: remoteRuns(read),
    configuration: () => config,
    starting: (_by, signal) => starting.read(signal),
  };
}

async function dispatch(client: GatewayClient, call: Call, common: object): Promise<Result> {
  const withdrawn = new AbortController();
  let target: CalledTarget | undefined;
  try {
    const result = await client.send('dispatch', {
      body: { ...common, ...toWireCall(call) },
      signal: call.signal,
      onMessage(line) {
        if (line.progress) call.onProgress?.(line.progress);
        if (line.target) target = line.target;
        if (line.withdrawn) withdrawn.abort();
      },
    });
    const sent = result as WireResult;
    return sent.kind === 'input-required' ? { ...sent, withdrawn: withdrawn.signal } : (sent as Result);
  } catch (thrown) {
    if (call.signal.aborted) throw cancelled(target);
    throw thrown instanceof GatewayLost ? lostDuring(call, { client, target, sent: thrown.sent }) : thrown;
  }
}

const cancelled = (target: CalledTarget | undefined) =>
  new HeddleError(
    'CALL_CANCELLED',
    target ? `The call to ${target.server} was cancelled.` : 'The call was cancelled while it waited.',
  );

const message = ({ gateway: { url, pid } }: GatewayClient) =>
  `The connection to the gateway at ${url} (pid ${pid}) was lost.`;
const FIX = 'Start the gateway again with `heddle up`, or add --local.';

const lostGateway = (client: GatewayClient) =>
  new UpstreamError('UPSTREAM_FAILED', message(client), { delivered: 'no', fix: FIX });

interface LostCall {
  readonly client: GatewayClient;
  readonly target: CalledTarget | undefined;
  readonly sent: boolean;
}

/** Returns the error of a lost server: the call may have had effects, unless its tool is known to have none. */
function lostDuring(call: Call, { client, target, sent }: LostCall): HeddleError {
  const details: JsonObject = { ...(target && { server: target.server }), connectionLost: true };
  const isNew = call.continuation === undefined;
  if (!sent && isNew) return new UpstreamError('UPSTREAM_UNREACHABLE', message(client), { delivered: 'no', fix: FIX });
  if (call.kind !== 'tool' || target?.repeatable || isTaskPoll(call)) {
    return new UpstreamError('UPSTREAM_FAILED', message(client), { delivered: 'maybe', details, fix: FIX });
  }
  return new HeddleError(
    'OUTCOME_UNKNOWN',
    `${message(client)} ${target?.name ?? call.name} may have happened or not; it was not repeated.`,
    { details: { ...(target && { server: target.server }), because: 'UPSTREAM_FAILED' } },
  );
}
