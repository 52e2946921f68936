import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import type { FanoutStep, StepBase } from '../definition/canonical.ts';
import type { StoredValue } from '../run/durable.ts';
import { evaluate, stepView } from './frame/evaluate.ts';
import { advanceTo, type ExecutionParts, type Frame, frameBelow } from './frame/frame.ts';
import { StepFailure } from './frame/step-failure.ts';
import { openScope, type StepDone, type StepState } from './frame/step-scope.ts';
import { type ItemEntry, loadItems } from './load-results.ts';
import { mergeItems } from './merge-items.ts';
import { type ItemEnd, pullItems, toItems } from './pull-items.ts';

/** Results of items over this size are held by reference. */
const MAX_HELD_BYTES = 4 * 1024;

/** Runs the body for each item, at most `maxConcurrency` at a time. */
export async function runFanout(
  execution: ExecutionParts,
  frame: Frame,
  step: StepBase & FanoutStep,
): Promise<StepDone> {
  const items = toItems(await evaluate(execution, frame.scope, step.items), frame.path);
  const { maxConcurrency } = step;
  const tolerated = toleratedOf(step, items.length);
  const ends = await pullItems(execution, frame, {
    ...{ items, maxConcurrency, tolerated },
    run: (item, index, signal) => runItem(execution, frame, { step, item, index, signal }),
  }).catch((thrown: unknown) => {
    throw step.tolerate ? notTolerated(thrown, frame.path, { tolerated, total: items.length }) : thrown;
  });
  const entries = ends.map(toEntry);
  const failed = entries.filter((entry) => 'failed' in entry).length;
  const ok = ends.filter((end) => 'value' in end && end.value.isOk).length;
  const fields = { ok, failed, total: items.length };
  if (step.merge) {
    const merged = await mergeItems(execution, frame, { step, merge: step.merge, entries });
    return { ...merged, fields };
  }
  const result = async (): Promise<Json> => {
    const loaded = await loadItems(execution, frame.path, entries);
    return step.shape === 'contents' ? loaded.map(({ value }) => value ?? null) : { items: loaded, ...fields };
  };
  return { fields, result };
}

interface Item {
  readonly step: FanoutStep;
  readonly item: Json;
  readonly index: number;
  readonly signal: AbortSignal;
}

interface ItemDone {
  readonly stored: StoredValue;
  /** False if no step of the item has a result. */
  readonly isOk: boolean;
}

async function runItem(
  execution: ExecutionParts,
  around: Frame,
  { step, item, index, signal }: Item,
): Promise<ItemDone> {
  const scope = openScope(around.scope, { item, index, [step.as]: item });
  const frame = frameBelow(around, { segment: `[${index}]`, place: index, scope, signal });
  const last = await execution.runSteps(step.steps, frame);
  advanceTo(around, frame.time.at);
  const isContent = step.merge && step.shape === 'contents';
  const value = isContent ? await contentOf(last) : ((await last?.result()) ?? null);
  const entry = { index, status: last ? 'ok' : 'skipped', value };
  const steps = step.merge && step.shape === 'report' ? { steps: await stepViews(execution, scope.steps()) } : {};
  return { stored: await execution.durable.store({ ...entry, ...steps }, MAX_HELD_BYTES), isOk: last !== undefined };
}

/** Returns the content of the call of a classic item, for `mergeTool`. */
async function contentOf(last: StepState | undefined): Promise<Json> {
  const raw = await last?.raw?.();
  if (isObject(raw) && raw.content !== undefined) return raw.content;
  return (await last?.result()) ?? null;
}

async function stepViews(execution: ExecutionParts, steps: ReadonlyMap<string, StepState>): Promise<JsonObject> {
  const views = [...steps].map(async ([id, { raw: _, ...state }]) => [id, await stepView(state, execution.form)]);
  return Object.fromEntries(await Promise.all(views));
}

function toEntry(end: ItemEnd<ItemDone>, index: number): ItemEntry {
  if ('value' in end) return { stored: end.value.stored };
  const { code, message } = end.failure.error;
  return { failed: { index, status: 'failed', error: { code, message } } };
}

function toleratedOf({ tolerate }: FanoutStep, total: number): number {
  if (!tolerate) return 0;
  const { count = Number.POSITIVE_INFINITY, percent = 100 } = tolerate;
  return Math.min(count, Math.floor((total * percent) / 100));
}

function notTolerated(thrown: unknown, path: string, { tolerated, total }: { tolerated: number; total: number }) {
  if (!(thrown instanceof StepFailure) || thrown.isCancelled) return thrown;
  const message = `More than ${tolerated} of ${total} items of the step ${path} have failed. The last one: ${thrown.message}`;
  const error = { code: 'TOO_MANY_FAILED', message, fix: 'Correct the items, or raise `tolerate`.', path };
  return new StepFailure(error, { mayHaveActed: thrown.mayHaveActed });
}
