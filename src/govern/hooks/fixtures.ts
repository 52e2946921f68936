import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import type { Settings } from '../../config/schema/schema.ts';
import type { Handler, ResolvedCall, Result } from '../../core/call.ts';
import { text } from '../../core/fixtures.ts';
import type { HookFunctions } from '../../core/records/hook.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import type { AuditRecord, Later } from '../../store/audit-log.ts';
import type { OpenApprovalFlow } from '../approve.ts';
import type { Taints } from '../policy/taints.ts';
import { currentHooks, hookStage } from './hooks.ts';

export type WrittenHooks = Partial<Settings['hooks']>;

// No test waits this long: a slow machine must not end a hook early.
export const LONGEST_MS = 60_000;

/** Settings and parts of a stage that a test may replace. */
export interface StageExtras {
  readonly sampling?: Pick<Settings['sampling'], 'permission'>;
  readonly openFlow?: OpenApprovalFlow;
  readonly taints?: Taints;
}

/** Opens a stage with these hooks, and keeps the audit records that it writes. */
export function withHooks(
  written: WrittenHooks,
  functions: HookFunctions = {},
  { env = process.env, ...extras }: StageExtras & { readonly env?: NodeJS.ProcessEnv } = {},
) {
  const sampling = { ...SETTING_DEFAULTS.sampling, ...extras.sampling };
  const openFlow = extras.openFlow ?? (() => Promise.reject(new Error('No approval is expected.')));
  const folder = mkdtempSync(join(tmpdir(), 'heddle-hooks-'));
  const watchdog = openWatchdog(env);
  onTestFinished(() => {
    watchdog.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const records: AuditRecord[] = [];
  const append = (record: Later<AuditRecord>) => void records.push(typeof record === 'function' ? record() : record);
  const settings = { hooks: { ...SETTING_DEFAULTS.hooks, ...written }, sampling };
  const taints = extras.taints && { taints: extras.taints };
  const clock = () => 1_700_000_000_500;
  const parts = { audit: { append }, watchdog, env, cwd: () => folder, clock, openFlow, ...taints };
  const stage = hookStage(currentHooks(() => settings, functions, parts));
  const program = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  return { stage, records, folder, program };
}

/** Returns a handler that keeps the calls it gets. */
export function keeping(result: Result = text('done')) {
  const seen: ResolvedCall[] = [];
  const next: Handler<ResolvedCall> = async (call) => {
    seen.push(call);
    return result;
  };
  return { seen, next };
}

/** A hook that runs a line of a shell. */
export const shell = (script: string, ...args: readonly string[]) => ({
  command: ['/bin/sh', '-c', script, ...args],
  timeoutMs: LONGEST_MS,
});

/** A hook that reads all of its input and prints this text. */
export const printing = (output: string) => shell('cat >/dev/null; printf %s "$0"', output);
