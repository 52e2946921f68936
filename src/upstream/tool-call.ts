import type { JsonObject, ResolvedCall, Result } from '../core/call.ts';
import { UpstreamError } from '../core/errors.ts';
import type { Ask } from '../wire/peer.ts';

const CALL_MS = 30_000;
const LONGEST_CALL_MS = 600_000;

/** What `tools/call` is asked with. */
export function paramsOf({ target, input, meta }: ResolvedCall): JsonObject {
  const params: JsonObject = { name: target.name, arguments: input };
  return hasKeys(meta) ? { ...params, _meta: meta } : params;
}

/** Under which deadline, signal and progress listener one round of a call runs. */
export const askOf = ({ options, signal, report }: ResolvedCall): Ask => ({
  deadlineMs: options.timeoutMs ?? CALL_MS,
  longestMs: LONGEST_CALL_MS,
  signal,
  onProgress: report,
});

/** The answer of a server, verbatim. `startedAt` is of this round. */
export function answered(server: string, value: JsonObject, startedAt: number): Result {
  if (value.resultType === 'input_required') throw askedUninvited(server);
  const latencyMs = performance.now() - startedAt;
  return { kind: 'complete', value, isError: value.isError === true, from: { server, attempts: 1, latencyMs } };
}

/** An answer in our words, where the server has none: the model reads it as it reads the server's own. */
export const answeredByUs = (server: string, text: string, startedAt: number): Result =>
  answered(server, { content: [{ type: 'text', text }], isError: true }, startedAt);

/** The protocol forbids a server to ask what nobody said could be asked. */
export const askedUninvited = (server: string) =>
  new UpstreamError('UPSTREAM_FAILED', `${server} asked the user a question, which it was not invited to do.`, {
    delivered: 'maybe',
  });

export function hasKeys(object: object): boolean {
  for (const _ in object) return true;
  return false;
}
