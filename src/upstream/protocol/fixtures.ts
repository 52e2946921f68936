import type { ClientCapabilities, InputResponses, JsonObject, ResolvedCall, Result } from '../../core/call.ts';
import type { Peer } from '../../wire/peer.ts';
import { openServerRequests } from '../elicitation/server-requests.ts';
import { type SuspendedCallsOptions, suspendedCalls } from '../elicitation/suspended-calls.ts';
import { type TinyAnswer, tinyServer, toolCall } from '../fixtures.ts';
import { connectInMemory } from '../transports/connect-in-memory.ts';
import { resumeSuspended } from './resume-suspended.ts';

export const ALL: ClientCapabilities = { form: true, url: true, sampling: true, samplingTools: false, roots: true };
export const FORM = { message: 'Which?', requestedSchema: { type: 'object', properties: { n: { type: 'integer' } } } };

/** Connects to a legacy server whose tools send requests with the peer they get. Declares all capabilities. */
export async function connectLegacyServer(
  tool: (server: Peer, params: JsonObject) => Promise<JsonObject>,
  options: SuspendedCallsOptions = {},
) {
  const answer: TinyAnswer = (params) => tool(server(), params);
  const tiny = tinyServer({ 'tools/call': answer });
  const server = () => tiny.transports[0] as Peer;
  const suspended = suspendedCalls(options);
  const sampling = () => ({ maxCalls: 1, windowMs: 1000, maxTokens: 50 });
  const connection = await connectInMemory(tiny.serve)({
    serverRequests: openServerRequests({ suspendedCalls: suspended, roots: () => [], sampling }),
    server: 'demo',
    signal: new AbortController().signal,
    known: 'legacy',
    capabilities: ALL,
    onNotification() {},
  });
  return { connection, suspended, server, resume: (call: ResolvedCall) => resumeSuspended(suspended, call) };
}

/** Sends a request from the server; an elicitation by form unless given. */
export const requestFrom = (server: Peer, method = 'elicitation/create', params: JsonObject = FORM) =>
  server.request(method, params, { deadlineMs: 600_000 });

export const callWith = (more: Partial<ResolvedCall> = {}) => toolCall('x', {}, { capabilities: ALL, ...more });

/** The call that continues `result` with these input responses. */
export function continued(
  result: Result,
  inputResponses: InputResponses,
  more: Partial<ResolvedCall> = {},
): ResolvedCall {
  if (result.kind !== 'input-required') throw new Error('It required no input.');
  return callWith({ continuation: result.continuation, inputResponses, ...more });
}

export const accept = (n: number) => ({ action: 'accept', content: { n } });
