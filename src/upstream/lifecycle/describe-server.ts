import type { JsonObject } from '../../core/call.ts';
import type { ServerEvent, ServerStatus } from '../../core/records/server-status.ts';
import type { ServerFailure } from '../../store/server-book.ts';
import type { UrlTransport } from '../connection.ts';
import type { ServerPlan } from './plan-server.ts';
import type { Lists } from './server-definitions.ts';
import type { ServerState } from './server-state.ts';

/** The facts of a server that its state does not contain. */
export interface ServerFacts {
  readonly lists: Lists;
  readonly retryAt: number | undefined;
  readonly info: JsonObject | undefined;
  /** The failure of an earlier process, shown until this one connects the server. */
  readonly failure?: ServerFailure | undefined;
  /** A problem of a connected server, such as a list that failed. */
  readonly trouble: string | undefined;
  /** The transport in use now or at the last connection, if it was found out at the connect. */
  readonly urlTransport?: UrlTransport | undefined;
}

/** Returns the public status of a server. */
export function describeServer(plan: ServerPlan, state: ServerState, facts: ServerFacts): ServerStatus {
  const { name, scope, sandbox } = plan;
  const { lists, retryAt, info, trouble, urlTransport } = facts;
  const reason = reasonOf(name, state) ?? (state.state === 'connected' ? trouble : undefined);
  const { fix, code } = ('error' in state && state.error) || {};
  return {
    name,
    scope,
    transport: transportInUse(plan, urlTransport),
    state: publicState(state),
    attempt: 'attempt' in state ? [state.attempt, state.of] : [0, 1],
    health: state.state === 'connected' ? state.health : 'unknown',
    sandbox,
    ...(reason !== undefined && { reason }),
    ...(fix !== undefined && { fix: fix.replaceAll('<server>', name) }),
    ...(code !== undefined && { code }),
    ...(state.state === 'waiting' && retryAt !== undefined && { retryAt }),
    ...retryFrom(plan, state),
    ...earlierFailure(name, state, facts.failure),
    ...(lists.tools && { tools: lists.tools.length }),
    ...(lists.resources && { resources: lists.resources.length }),
    ...(lists.templates && { templates: lists.templates.length }),
    ...(lists.prompts && { prompts: lists.prompts.length }),
    ...(state.state === 'connected' && info && { info }),
  };
}

/** Returns the failure of an earlier process, as long as this one has not tried the server. */
function earlierFailure(name: string, { state }: ServerState, failure?: ServerFailure): Partial<ServerStatus> {
  if (state !== 'idle' || !failure) return {};
  const { at, code, message, fix } = failure;
  return { state: 'failed', code, reason: message, fix: fix.replaceAll('<server>', name), failedAt: at };
}

/** Returns the transport in use. The cached one may belong to an entry of another type with the same URL. */
const transportInUse = ({ transport }: ServerPlan, urlTransport: UrlTransport | undefined): string =>
  transport === 'http' ? (urlTransport ?? transport) : transport;

/** Returns the events to publish when one state follows another. */
export function eventsBetween(before: ServerState, after: ServerState): readonly ServerEvent[] {
  if (after.state === 'closed') return before.state === 'closed' ? [] : ['closed'];
  if (before.state === 'connected' && after.state === 'connected')
    return before.health === after.health ? [] : ['health'];
  const reached = publicState(after);
  return before.state === 'connected' ? ['disconnected', reached] : [reached];
}

/** Returns when a server failed, and when a call may retry it. A barred server is never retried. */
const retryFrom = ({ reconnect }: ServerPlan, state: ServerState): Pick<ServerStatus, 'retryFrom' | 'failedAt'> =>
  state.state === 'failed' && Number.isFinite(state.at)
    ? { retryFrom: state.at + reconnect.delayMs, failedAt: state.at }
    : {};

function publicState({ state }: ServerState): ServerStatus['state'] {
  const isPending = state === 'idle' || state === 'connecting' || state === 'waiting' || state === 'closed';
  return isPending ? 'pending' : state;
}

/** Returns why a server is not connected. The message of a JSON-RPC error is the server's own, and is marked as such. */
function reasonOf(server: string, state: ServerState): string | undefined {
  if ('error' in state && state.error) {
    const { message, details } = state.error;
    return details.rpc === undefined ? message : `${server} answered with an error: ${message}`;
  }
  return 'reason' in state ? state.reason : undefined;
}
