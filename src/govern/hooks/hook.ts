import { basename } from 'node:path';
import type { Settings } from '../../config/schema/schema.ts';
import type { Continuation } from '../../core/call.ts';
import type { HookEventName, HookFunction, HookFunctions } from '../../core/records/hook.ts';
import type { Clock } from '../../core/time.ts';
import type { Watchdog } from '../../process/watchdog.ts';
import type { AuditLog } from '../../store/audit-log.ts';
import type { OpenApprovalFlow } from '../approve.ts';
import type { Taints } from '../policy/taints.ts';

/** A command or webhook of `hooks` in the configuration. */
export type ConfiguredHook = Settings['hooks'][HookEventName][number];

/** The parts that hooks need. */
export interface HookParts {
  readonly audit: Pick<AuditLog, 'append'>;
  readonly watchdog: Watchdog;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which commands run. */
  readonly cwd: () => string;
  readonly clock: Clock;
  /** Opens the flow of approvals, for sampling requests. */
  readonly openFlow: OpenApprovalFlow;
  /** The labels of sessions; without them, approval rules of sampling requests see none. */
  readonly taints?: Taints;
}

/** The hooks in force, and the parts that run them. */
export interface Configured {
  readonly parts: HookParts;
  readonly hooks: Settings['hooks'];
  readonly functions: HookFunctions;
  readonly sampling: Settings['sampling']['permission'];
}

/** A hook that is about one event. */
export interface Hook {
  /** Its name in messages and records: `hooks.beforeCall (check.sh)`. */
  readonly name: string;
  readonly about: { readonly configured: ConfiguredHook } | { readonly run: HookFunction };
}

const MAX_NAME_CHARS = 100;

/** Returns the hooks of an event that are about a target, in their order: those of the configuration, then the function. */
export function hooksFor(
  { hooks, functions }: Configured,
  event: HookEventName,
  isAbout: (tools: readonly string[]) => boolean,
): readonly Hook[] {
  const configured = hooks[event].filter(({ tools }) => tools === undefined || isAbout(tools));
  const run = functions[event] as HookFunction | undefined;
  return [
    ...configured.map((one) => ({ name: nameOf(event, one), about: { configured: one } })),
    ...(run ? [{ name: `hooks.${event}`, about: { run } }] : []),
  ];
}

/** Names a hook by its program or host. Further arguments and the path of a URL may be secrets. */
function nameOf(event: HookEventName, { command, url }: ConfiguredHook): string {
  const what = command ? basename(command[0] ?? '') : new URL(url ?? '').host;
  return `hooks.${event} (${what.slice(0, MAX_NAME_CHARS)})`;
}

/** Returns the digest of the arguments that hooks gave the call when it began; undefined if no hook ran. */
export const digestIn = (continuation: Continuation | undefined): string | undefined =>
  continuation === undefined || continuation.kind === 'approval' || continuation.kind === 'task'
    ? undefined
    : continuation.hooked;
