import type { Effect, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { HookEventName, HookVerdict } from '../../core/records/hook.ts';
import { cutAndEscapeBreaks } from '../../core/text/cut-text.ts';
import { oneLine } from '../../core/text/visible-text.ts';

const MAX_REASON_CHARS = 500;
const EFFECTS: Readonly<Record<Exclude<HookEventName, 'onApproval'>, readonly Effect[]>> = {
  beforeCall: ['allow', 'ask', 'deny'],
  afterCall: ['allow', 'deny'],
  beforeInputRequest: ['allow', 'deny'],
  afterInputResponse: ['allow', 'deny'],
};

/** Reads the verdict of a hook. Returns what is wrong with it as text: a misspelt verdict must not allow a call. */
export function readVerdict(event: keyof typeof EFFECTS, value: unknown): HookVerdict | string {
  if (!isObject(value)) return 'gave a verdict that is not an object';
  const { effect, reason, arguments: changed, ...others } = value;
  const unknown = [...Object.keys(others), ...(changed !== undefined && event !== 'beforeCall' ? ['arguments'] : [])];
  if (unknown[0] !== undefined) return `gave a verdict with the unknown field \`${oneLine(unknown[0].slice(0, 40))}\``;
  if (effect !== undefined && !EFFECTS[event].includes(effect as Effect))
    return `gave an effect other than ${EFFECTS[event].join(', ')}`;
  if (reason !== undefined && typeof reason !== 'string') return 'gave a reason that is no text';
  if (changed !== undefined && !isObject(changed)) return 'gave arguments that are not an object';
  return {
    ...(effect !== undefined && { effect: effect as Effect }),
    ...(typeof reason === 'string' && reason.trim() !== '' && { reason: shown(reason) }),
    ...(changed !== undefined && { arguments: changed as JsonObject }),
  };
}

/** Returns the text of a hook as one short line. */
const shown = (reason: string) => cutAndEscapeBreaks(reason.trim(), MAX_REASON_CHARS);
