import type { JsonObject } from '../../core/call.ts';
import type { FanoutStep, StepBase, ToolUse } from '../definition/canonical.ts';
import { SKIPPED_VIEW } from '../expressions/step-view.ts';
import { callTool, toInput } from './call-tool.ts';
import { evaluate } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow } from './frame/frame.ts';
import { StepFailure } from './frame/step-failure.ts';
import { type StepDone, withValues } from './frame/step-scope.ts';
import { isCallRetryable, withRetry } from './frame/with-retry.ts';
import { type ItemEntry, loadItems } from './load-results.ts';

const MAX_INPUT_BYTES = 1024 * 1024;

interface Merge {
  readonly step: StepBase & FanoutStep;
  readonly merge: ToolUse;
  readonly entries: readonly ItemEntry[];
}

/** Calls the merge tool once with the results of all items. */
export async function mergeItems(execution: ExecutionParts, frame: Frame, merge: Merge): Promise<StepDone> {
  const items = await itemsOf(execution, frame, merge);
  const scope = withValues(frame.scope, { items });
  const input = toInput(await evaluate(execution, scope, merge.merge.input), frame.path);
  checkSize(frame.path, Buffer.byteLength(JSON.stringify(input)));
  const below = frameBelow(frame, { segment: '~merge', place: merge.entries.length });
  const { value } = await withRetry(execution, below, {
    retry: merge.step.retry,
    isRetryable: isCallRetryable,
    run: (attempt) => callTool(execution, below, { tool: merge.merge.tool, input, attempt, onInDoubt: 'ask' }),
  });
  advanceTo(frame, below.time.at);
  return value;
}

/** Returns `$items`. Each has the steps of its body by id; a step without a result counts as skipped. */
async function itemsOf(execution: ExecutionParts, { path }: Frame, { step, entries }: Merge) {
  const skipped = Object.fromEntries(step.steps.map(({ id }) => [id, SKIPPED_VIEW]));
  const loaded = await loadItems(execution, path, entries);
  if (step.shape === 'contents') return loaded.map(({ value }) => value ?? null);
  return loaded.map(({ steps = {}, ...rest }): JsonObject => ({ ...skipped, ...(steps as JsonObject), ...rest }));
}

function checkSize(path: string, bytes: number): void {
  if (bytes <= MAX_INPUT_BYTES) return;
  throw new StepFailure({
    code: 'MERGE_TOO_LARGE',
    message: `The input of the merge of the step ${path} has ${bytes} bytes, and ${MAX_INPUT_BYTES} are allowed.`,
    fix: 'Merge fewer items, or a smaller part of each.',
    path,
    details: { bytes, limit: MAX_INPUT_BYTES },
  });
}
