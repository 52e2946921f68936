import { abortable } from '../core/async/abortable.ts';
import type { DecidedCall, Result, Target } from '../core/call.ts';
import type { PreviewCall } from '../core/records/call-preview.ts';
import { cutText } from '../core/text/cut-text.ts';
import { realTimer, type Timer } from '../core/time.ts';

/** Returns the preview of a tool; undefined if it has none. It is passed in: govern knows no built-in server. */
export type PreviewOf = (target: Target) => PreviewCall | undefined;

/** The time that a preview may take, then the time in which it returns what it has. */
const PREVIEW_MS = 2000;
const GRACE_MS = 500;
const MAX_PREVIEW_CHARS = 131_072;
const MAX_REFUSAL_CHARS = 4096;
const TOO_LATE = `no estimate: the preview was not ready within ${PREVIEW_MS / 1000} s`;
// The error may name an address or a user, and approvers read the preview.
const FAILED = 'no estimate: the preview failed';

/** The lines that approvers see, or the reason why the call would fail in any case. */
export type PreviewLines = { readonly lines: readonly string[] } | { readonly refused: string };

/** Asks a tool for the preview of a call. One that fails or hangs neither blocks nor refuses the call. */
export async function previewCall(
  call: DecidedCall,
  previewOf: PreviewOf | undefined,
  timer: Timer = realTimer,
): Promise<PreviewLines | undefined> {
  const preview = previewOf?.(call.target);
  if (!preview) return undefined;
  const [late, over] = [new AbortController(), new AbortController()];
  const timers = [timer(PREVIEW_MS, () => late.abort()), timer(PREVIEW_MS + GRACE_MS, () => over.abort())];
  const signal = AbortSignal.any([call.signal, late.signal]);
  try {
    const previewed = preview(call.target.name, call.input, signal);
    const found = await abortable(previewed, AbortSignal.any([call.signal, over.signal]));
    if (found === undefined) return undefined;
    if ('refused' in found) return { refused: cutText(found.refused, MAX_REFUSAL_CHARS) };
    return { lines: cutText(found.text, MAX_PREVIEW_CHARS).split('\n') };
  } catch (thrown) {
    if (call.signal.aborted) throw thrown;
    return { lines: [late.signal.aborted ? TOO_LATE : FAILED] };
  } finally {
    for (const cancel of timers) cancel();
  }
}

/** Returns the result of a call that its preview refuses. No server and no approver gets it. */
export const refusedResult = ({ target }: DecidedCall, refused: string): Result => ({
  kind: 'complete',
  value: { isError: true, content: [{ type: 'text', text: refused }] },
  isError: true,
  provenance: { server: target.servers[0], attempts: 0, latencyMs: 0 },
});
