import type { Json, JsonObject } from '../../../../core/call.ts';
import { isObject } from '../../../../core/json.ts';
import { refusal, type StatementRules } from './refusal.ts';
import { CHANGE_STATEMENTS, sqlWordsOf } from './statement-nodes.ts';

const OPTIONS: ReadonlySet<string> = new Set([
  ...['analyze', 'verbose', 'costs', 'settings', 'generic_plan', 'buffers', 'summary', 'memory', 'format'],
  ...['timing', 'wal', 'serialize'],
]);

/** Checks the options of EXPLAIN and the statement that it explains. Throws a `DatabaseFailure`. */
export function checkExplain(explain: JsonObject, rules: StatementRules): void {
  for (const { defname, arg, location } of optionsOf(explain)) {
    // `db_explain` runs nothing.
    const isKnown = OPTIONS.has(String(defname)) && (defname !== 'analyze' || rules.access === 'read');
    if (isKnown || isOff(arg)) continue;
    const at = typeof location === 'number' ? location : undefined;
    throw refusal(rules, `EXPLAIN with ${String(defname).toUpperCase()}`, at);
  }
  const [explained = ''] = Object.keys(explain.query ?? {});
  if (explained === 'SelectStmt') return;
  const runs = isAnalyzed(explain);
  if (runs || !CHANGE_STATEMENTS.has(explained)) {
    throw refusal(rules, `EXPLAIN ${runs ? 'ANALYZE ' : ''}of ${sqlWordsOf(explained)}`, 0);
  }
}

/** Tests for EXPLAIN with ANALYZE, which runs the statement. Of several values, one that is on counts. */
export const isAnalyzed = (explain: JsonObject): boolean =>
  optionsOf(explain).some(({ defname, arg }) => defname === 'analyze' && !isOff(arg));

const optionsOf = ({ options }: JsonObject): readonly JsonObject[] =>
  ((options ?? []) as readonly JsonObject[]).map(({ DefElem: option }) => option as JsonObject);

/** Tests the value of an option: `false`, `off` or 0. */
function isOff(value: Json | undefined): boolean {
  if (!isObject(value)) return false;
  const { String: text, Integer: integer, Boolean: boolean } = value;
  if (isObject(text)) return /^(?:false|off)$/i.test(String(text.sval));
  // The parser leaves out 0 and false.
  return [integer, boolean].some((one) => isObject(one) && Object.keys(one).length === 0);
}
