import type { Json, JsonObject } from '../../../core/call.ts';
import { isObject } from '../../../core/json.ts';

/** Reads the estimate of changed rows from EXPLAIN (FORMAT JSON); undefined if the plan has none. */
export function estimateRows(explained: Json | undefined): number | undefined {
  const plans: Json | undefined = typeof explained === 'string' ? JSON.parse(explained) : explained;
  const plan = Array.isArray(plans) && isObject(plans[0]) ? plans[0].Plan : undefined;
  if (!isObject(plan)) return undefined;
  // Without RETURNING the node ModifyTable reports 0 rows. Its inputs have the estimate.
  if (plan['Node Type'] !== 'ModifyTable') return rowsOf(plan);
  const inputs = (Array.isArray(plan.Plans) ? (plan.Plans as readonly JsonObject[]) : []).filter(isInput);
  const rows = inputs.map(rowsOf);
  return rows.length === 0 || rows.includes(undefined) ? undefined : rows.reduce<number>((sum, n) => sum + (n ?? 0), 0);
}

const isInput = (plan: JsonObject): boolean => ['Outer', 'Member'].includes(String(plan['Parent Relationship']));

const rowsOf = (plan: JsonObject): number | undefined => {
  const rows = plan['Plan Rows'];
  return typeof rows === 'number' ? rows : undefined;
};
