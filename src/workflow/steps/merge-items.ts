import type { JsonObject } from '../../core/call.ts';
import type { FanoutStep, StepBase, ToolUse } from '../definition/canonical.ts';
import { SKIPPED_VIEW } from '../expressions/step-view.ts';
import type { StoredValue } from '../run/durable.ts';
import { callTool, toInput } from './call-tool.ts';
import { evaluate } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow } from './frame/frame.ts';
import { StepFailure } from './frame/step-failure.ts';
import { type StepDone, withValues } from './frame/step-scope.ts';
import { isCallRetryable, withRetry } from './frame/with-retry.ts';

const MAX_INPUT_BYTES = 1024 * 1024;
/** The most that a merge loads in order to compute its input. */
const MAX_LOADED_BYTES = 32 * MAX_INPUT_BYTES;

/** An item that has succeeded or was skipped; or one that has failed and is tolerated. */
export type ItemEntry = { readonly stored: StoredValue } | { readonly failed: JsonObject };

interface Merge {
  readonly step: StepBase & FanoutStep;
  readonly merge: ToolUse;
  readonly entries: readonly ItemEntry[];
}

/** Calls the merge tool once with the results of all items. */
export async function mergeItems(execution: ExecutionParts, frame: Frame, merge: Merge): Promise<StepDone> {
  const items = await loadItems(execution, frame, merge);
  const scope = withValues(frame.scope, { items });
  const input = toInput(await evaluate(execution, scope, merge.merge.input), frame.path);
  checkSize(frame.path, Buffer.byteLength(JSON.stringify(input)), MAX_INPUT_BYTES);
  const below = frameBelow(frame, { segment: '~merge', place: merge.entries.length });
  const { value } = await withRetry(execution, below, {
    retry: merge.step.retry,
    isRetryable: isCallRetryable,
    run: (attempt) => callTool(execution, below, { tool: merge.merge.tool, input, attempt, onInDoubt: 'ask' }),
  });
  advanceTo(frame, below.time.at);
  return value;
}

/** Loads `$items`. Each has the steps of its body by id; a step without a result counts as skipped. */
async function loadItems({ durable }: ExecutionParts, { path }: Frame, { step, entries }: Merge) {
  const skipped = Object.fromEntries(step.steps.map(({ id }) => [id, SKIPPED_VIEW]));
  const items: JsonObject[] = [];
  let bytes = 0;
  for (const entry of entries) {
    if ('stored' in entry && 'bytes' in entry.stored) bytes += entry.stored.bytes;
    checkSize(path, bytes, MAX_LOADED_BYTES);
    const item = 'failed' in entry ? entry.failed : ((await durable.load(entry.stored)) as JsonObject);
    const { steps = {}, ...rest } = item;
    items.push({ ...skipped, ...(steps as JsonObject), ...rest });
  }
  return step.shape === 'contents' ? items.map(({ value }) => value ?? null) : items;
}

function checkSize(path: string, bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new StepFailure({
    code: 'MERGE_TOO_LARGE',
    message: `The input of the merge of the step ${path} has ${bytes} bytes, and ${limit} are allowed.`,
    fix: 'Merge fewer items, or a smaller part of each.',
    path,
    details: { bytes, limit },
  });
}
