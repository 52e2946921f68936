import { abortable } from '../core/async/abortable.ts';
import type { PreviewCall } from '../core/call/preview.ts';
import type { DecidedCall, Result, Target } from '../core/call.ts';
import { cutText } from '../core/text/cut-text.ts';
import { realTimer, type Timer } from '../core/time.ts';

/** Returns the preview of a tool; undefined if it has none. It is passed in: govern knows no built-in server. */
export type PreviewOf = (target: Target) => PreviewCall | undefined;

/** The time that a preview may take. */
const PREVIEW_MS = 2000;
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
  const over = new AbortController();
  const signal = AbortSignal.any([call.signal, over.signal]);
  const cancel = timer(PREVIEW_MS, () => over.abort());
  try {
    const found = await abortable(preview(call.target.name, call.input, signal), signal);
    if (found === undefined) return undefined;
    if ('refused' in found) return { refused: cutText(found.refused, MAX_REFUSAL_CHARS) };
    return { lines: cutText(found.text, MAX_PREVIEW_CHARS).split('\n') };
  } catch (thrown) {
    if (call.signal.aborted) throw thrown;
    return { lines: [over.signal.aborted ? TOO_LATE : FAILED] };
  } finally {
    cancel();
  }
}

/** Returns the result of a call that its preview refuses. No server and no approver gets it. */
export const refusedResult = ({ target }: DecidedCall, refused: string): Result => ({
  kind: 'complete',
  value: { isError: true, content: [{ type: 'text', text: refused }] },
  isError: true,
  provenance: { server: target.servers[0], attempts: 0, latencyMs: 0 },
});
