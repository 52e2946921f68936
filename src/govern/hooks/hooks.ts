import type { Settings } from '../../config/schema/schema.ts';
import type { ResolvedCall, Stage } from '../../core/call.ts';
import type { HookFunctions } from '../../core/records/hook.ts';
import { type Configured, digestIn, type HookParts } from './hook.ts';

/** Returns the hooks in force; undefined if there are none. */
export type CurrentHooks = () => Configured | undefined;

/** Returns a function that returns the hooks in force. It compares one value per call, and builds anew after a change. */
export function currentHooks(
  settings: () => Pick<Settings, 'hooks' | 'sampling'>,
  functions: HookFunctions,
  parts: HookParts,
): CurrentHooks {
  let known: Settings['hooks'] | undefined;
  let current: Configured | undefined;
  return () => {
    const { hooks, sampling } = settings();
    if (hooks === known) return current;
    const isNeeded = sampling.permission !== 'allow' || !hasNone(hooks, functions);
    current = isNeeded ? { parts, hooks, functions, sampling: sampling.permission } : undefined;
    known = hooks;
    return current;
  };
}

const hasNone = (hooks: Settings['hooks'], functions: HookFunctions): boolean =>
  Object.values(hooks).every((list) => list.length === 0) && Object.values(functions).every((one) => one === undefined);

/**
 * Runs the hooks of each call: before it and after it, before each input request of a server and after each input
 * response. The code for that is loaded with the first call that has hooks.
 */
export function hookStage(current: CurrentHooks): Stage<ResolvedCall> {
  return function hooks(call, next) {
    const configured = current();
    if (configured === undefined && digestIn(call.continuation) === undefined) return next(call);
    return import('./run-hooks.ts').then(({ runHooks }) => runHooks(configured, call, next));
  };
}
