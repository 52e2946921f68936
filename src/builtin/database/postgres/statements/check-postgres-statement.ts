import type { Json, JsonObject } from '../../../../core/call.ts';
import { isObject } from '../../../../core/json.ts';
import { DEFINITIONS } from './definition-rules.ts';
import { checkExplain, isAnalyzed } from './explain-rules.ts';
import { type Position, refusal, type StatementRules } from './refusal.ts';
import {
  CHANGE_NODES,
  CHANGE_STATEMENTS,
  DEFINITION_NODES,
  NODE_OF_FIELD,
  QUERY_NODES,
  sqlWordsOf,
} from './statement-nodes.ts';

/** A name that a statement may call as a function. */
export interface FunctionUse {
  readonly schema?: string;
  readonly name: string;
  /** Byte offset in the statement. */
  readonly at: Position;
  /**
   * `value` is `(value).name`, which calls a function of one argument of any type if there is no such field. `row` is
   * `row.name`, which is mostly a column: it calls a function of a row only.
   */
  readonly form: 'call' | 'value' | 'row';
}

/** The kind of a permitted statement: `define` changes tables, indexes, views, sequences or types. */
export type StatementKind = 'select' | 'show' | 'explain' | 'change' | 'define';

/** A statement that has passed the check of its syntax. Its functions are checked next. */
export interface PostgresStatement {
  readonly kind: StatementKind;
  /** True if only a plan is made. The statement does not run. */
  readonly isPlan: boolean;
  /** The SQL words of the statement, such as `UPDATE`. */
  readonly words: string;
  readonly functions: readonly FunctionUse[];
  /** Names of types in casts. A cast may call a function. */
  readonly types: readonly string[];
  /** Names of operators. An operator of a user calls a function. */
  readonly operators: readonly string[];
  /** The highest number of a parameter. */
  readonly params: number;
}

/**
 * Checks the parse tree of a statement. The whole tree has to consist of known nodes. Throws a `DatabaseFailure` with
 * the construct and its position.
 */
export function checkPostgresStatement(statements: readonly JsonObject[], rules: StatementRules): PostgresStatement {
  const [first, second] = statements;
  if (!first) throw refusal(rules, 'An empty statement', undefined);
  if (second) throw refusal(rules, 'A second statement', positionOf(second.stmt_location));
  const start = positionOf(first.stmt_location) ?? 0;
  const root = nameOf(first.stmt) ?? '';
  const body = (first.stmt as JsonObject)[root] as JsonObject;
  const kind = kindOf(root, body, rules);
  const found: Findings = {
    ...{ functions: [], columns: [], rangeFunctions: new Set<string>() },
    ...{ types: new Set<string>(), operators: new Set<string>(), params: 0 },
  };
  const isPlan = rules.access === 'plan' || (kind === 'explain' && !isAnalyzed(body));
  const known = isPlan ? isPlanNode : (KNOWN_NODES[kind] ?? isQueryNode);
  walk(kind === 'explain' ? body.query : body, { known, start, found, rules });
  const functions = [...found.functions, ...found.columns.map((column) => usesOf(column, found))].toSorted(
    (one, other) => (one.at ?? 0) - (other.at ?? 0),
  );
  const [types, operators] = [[...found.types], [...found.operators]];
  return { kind, isPlan, words: sqlWordsOf(root), functions, types, operators, params: found.params };
}

const isQueryNode = (node: string): boolean => QUERY_NODES.has(node);
const isChangeNode = (node: string): boolean => QUERY_NODES.has(node) || CHANGE_NODES.has(node);
const isDefinitionNode = (node: string): boolean => QUERY_NODES.has(node) || DEFINITION_NODES.has(node);
/** A plan may have changes in WITH, and locking clauses. */
const isPlanNode = (node: string): boolean => isChangeNode(node) || CHANGE_STATEMENTS.has(node);

const KNOWN_NODES: Partial<Record<StatementKind, (node: string) => boolean>> = {
  change: isChangeNode,
  define: isDefinitionNode,
};

function kindOf(root: string, body: JsonObject, rules: StatementRules): StatementKind {
  if (rules.access === 'write') return writingKindOf(root, body, rules);
  if (root === 'SelectStmt') return 'select';
  if (root === 'VariableShowStmt') return 'show';
  if (rules.access === 'plan' && CHANGE_STATEMENTS.has(root)) return 'change';
  if (root !== 'ExplainStmt') throw refusal(rules, sqlWordsOf(root), 0);
  checkExplain(body, rules);
  return 'explain';
}

function writingKindOf(root: string, body: JsonObject, rules: StatementRules): StatementKind {
  if (CHANGE_STATEMENTS.has(root)) {
    // This view sets the settings of the session.
    const isSetting = isObject(body.relation) && body.relation.relname === 'pg_settings';
    if (isSetting) throw refusal(rules, `${sqlWordsOf(root)} of pg_settings`, 0);
    return 'change';
  }
  const rule = rules.allowDdl ? DEFINITIONS.get(root) : undefined;
  const problem = rule ? rule(body) : sqlWordsOf(root);
  if (problem !== undefined) throw refusal(rules, problem, 0);
  return 'define';
}

/** A column with the name before it. */
interface QualifiedColumn {
  readonly row: string;
  readonly name: string;
  readonly at: Position;
}

/** Returns the function that a column may be. The row of a function in FROM may be a value of any type. */
function usesOf({ row, name, at }: QualifiedColumn, { rangeFunctions }: Findings): FunctionUse {
  return { name, at, form: rangeFunctions.has(row) || rangeFunctions.has(UNNAMED) ? 'value' : 'row' };
}

/** Stands for a function in FROM whose name is not known here. */
const UNNAMED = '';

/** Returns the name that a function in FROM has in the statement: its alias, or its own name. */
function rangeFunctionName({ alias, functions }: JsonObject): string {
  if (isObject(alias)) return String(alias.aliasname ?? UNNAMED);
  const [first] = (functions ?? []) as readonly JsonObject[];
  const [call] = ((first?.List as JsonObject | undefined)?.items ?? []) as readonly JsonObject[];
  return namesIn((call?.FuncCall as JsonObject | undefined)?.funcname).at(-1) ?? UNNAMED;
}

interface Findings {
  readonly functions: FunctionUse[];
  readonly columns: QualifiedColumn[];
  readonly rangeFunctions: Set<string>;
  readonly types: Set<string>;
  readonly operators: Set<string>;
  params: number;
}

interface Walk {
  known(node: string): boolean;
  readonly start: number;
  readonly found: Findings;
  readonly rules: StatementRules;
}

/** A part of the tree that is still to be visited. `field` names the field that holds it. */
interface Visit {
  readonly value: Json | undefined;
  readonly field: string;
  readonly at: Position;
}

/** Visits every part of a tree. No recursion: the tree of `1+1+1…` is as deep as it is long. */
function walk(tree: Json | undefined, walked: Walk): void {
  // The root has been checked by its name.
  const open: Visit[] = isObject(tree) ? partsOf(unwrap(tree), walked.start) : [];
  for (let visit = open.pop(); visit; visit = open.pop()) {
    const { value, field, at } = visit;
    if (Array.isArray(value)) for (const item of value as readonly Json[]) open.push({ value: item, field, at });
    else if (isObject(value) && !isEmpty(value)) open.push(...visitNode(value, visit, walked));
  }
}

/** Checks one node and returns its parts. */
function visitNode(value: JsonObject, { field, at }: Visit, { known, found, rules }: Walk): readonly Visit[] {
  const wrapped = nameOf(value);
  const node = wrapped ?? NODE_OF_FIELD[field] ?? field;
  const content = wrapped === undefined ? value : value[wrapped];
  const place = (isObject(content) ? positionOf(content.location) : undefined) ?? at;
  if (!known(node)) throw refusal(rules, insideWords(node), place);
  if (!isObject(content)) return [];
  COLLECTORS.get(node)?.(content, found, place);
  return partsOf(content, place);
}

/** Names a node inside a statement for a message. */
function insideWords(node: string): string {
  const words = sqlWordsOf(node);
  return CHANGE_STATEMENTS.has(node) ? `${words} inside another statement` : words;
}

const unwrap = (tree: JsonObject): JsonObject => {
  const name = nameOf(tree);
  return name === undefined ? tree : (tree[name] as JsonObject);
};

const partsOf = (content: JsonObject, at: Position): Visit[] =>
  Object.entries(content)
    .filter(([, value]) => typeof value === 'object' && value !== null)
    .map(([field, value]) => ({ value, field, at }));

const isEmpty = (value: JsonObject): boolean => Object.keys(value).length === 0;

/** Returns the name of a node. A node is an object with one key, which begins with a capital letter. */
function nameOf(value: Json | undefined): string | undefined {
  if (!isObject(value)) return undefined;
  const [key, another] = Object.keys(value);
  return key !== undefined && another === undefined && /^[A-Z]/.test(key) ? key : undefined;
}

const positionOf = (location: Json | undefined): Position =>
  typeof location === 'number' && location >= 0 ? location : undefined;

/** Adds the names that a node uses to the findings. */
type Collector = (content: JsonObject, found: Findings, at: Position) => void;

const operatorIn: (field: string) => Collector = (field) => (content, found) => {
  const operator = namesIn(content[field]).at(-1);
  if (operator !== undefined) found.operators.add(operator);
};

const COLLECTORS: ReadonlyMap<string, Collector> = new Map<string, Collector>([
  ['FuncCall', collectCall],
  ['ColumnRef', collectColumn],
  ['A_Indirection', collectFields],
  ['TypeName', collectType],
  ['RangeFunction', (content, found) => void found.rangeFunctions.add(rangeFunctionName(content))],
  ['A_Expr', operatorIn('name')],
  ['SubLink', operatorIn('operName')],
  ['SortBy', operatorIn('useOp')],
  ['ParamRef', collectParameter],
  // Keywords of newer versions. An older server calls a function of this name.
  ['JsonFuncExpr', ({ op }, found, at) => addCall(String(op).toLowerCase().replace(/_op$/, ''), found, at)],
  ['JsonScalarExpr', (_content, found, at) => addCall('json_scalar', found, at)],
  ['JsonSerializeExpr', (_content, found, at) => addCall('json_serialize', found, at)],
  ['JsonParseExpr', (_content, found, at) => addCall('json', found, at)],
  ['JsonArrayConstructor', (_content, found, at) => addCall('json_array', found, at)],
  ['JsonObjectConstructor', (_content, found, at) => addCall('json_object', found, at)],
  ['JsonArrayAgg', (_content, found, at) => addCall('json_arrayagg', found, at)],
  ['JsonObjectAgg', (_content, found, at) => addCall('json_objectagg', found, at)],
]);

const addCall = (name: string, found: Findings, at: Position): void =>
  void found.functions.push({ name, at, form: 'call' });

function collectCall({ funcname }: JsonObject, found: Findings, at: Position): void {
  const [name = '', schema] = namesIn(funcname).toReversed();
  found.functions.push({ name, at, form: 'call', ...(schema !== undefined && { schema }) });
}

function collectColumn({ fields }: JsonObject, found: Findings, at: Position): void {
  const [name, row] = namesIn(fields).toReversed();
  if (name !== undefined && row !== undefined) found.columns.push({ row, name, at });
}

function collectFields({ indirection }: JsonObject, found: Findings, at: Position): void {
  for (const name of namesIn(indirection)) found.functions.push({ name, at, form: 'value' });
}

function collectType({ names: list }: JsonObject, found: Findings): void {
  const names = namesIn(list);
  const last = names.at(-1);
  if (last !== undefined && names[0] !== 'pg_catalog') found.types.add(last);
}

function collectParameter({ number }: JsonObject, found: Findings): void {
  found.params = Math.max(found.params, Number(number ?? 0));
}

/** Returns the names in a list. Other items, such as `*` and subscripts, are left out. */
function namesIn(list: Json | undefined): readonly string[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly JsonObject[]).flatMap((item) => {
    const text = isObject(item) ? item.String : undefined;
    return isObject(text) ? [String(text.sval ?? '')] : [];
  });
}
