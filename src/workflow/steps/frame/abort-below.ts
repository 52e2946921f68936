/** A signal that aborts with its parent or alone. */
export interface Aborter {
  readonly signal: AbortSignal;
  abort(): void;
  /** Removes the listener of the parent. */
  release(): void;
}

/** Creates a signal below another. */
export function abortBelow(parent: AbortSignal): Aborter {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (parent.aborted) abort();
  else parent.addEventListener('abort', abort, { once: true });
  return { signal: controller.signal, abort, release: () => parent.removeEventListener('abort', abort) };
}
