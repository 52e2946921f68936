/** Nodes of the parse tree that expressions, queries and their parts consist of. They change nothing. */
export const QUERY_NODES: ReadonlySet<string> = new Set([
  ...['SelectStmt', 'WithClause', 'CommonTableExpr', 'CTESearchClause', 'CTECycleClause', 'ResTarget', 'List'],
  ...['RangeVar', 'RangeSubselect', 'RangeFunction', 'RangeTableSample', 'RangeTableFunc', 'RangeTableFuncCol'],
  ...['JoinExpr', 'Alias', 'ColumnDef', 'CollateClause', 'TypeName', 'TypeCast', 'SortBy', 'GroupingSet', 'WindowDef'],
  ...['ColumnRef', 'ParamRef', 'A_Const', 'A_Star', 'A_Expr', 'A_Indirection', 'A_Indices', 'A_ArrayExpr'],
  ...['BoolExpr', 'NullTest', 'BooleanTest', 'CaseExpr', 'CaseWhen', 'CoalesceExpr', 'MinMaxExpr', 'RowExpr'],
  ...['SubLink', 'FuncCall', 'NamedArgExpr', 'GroupingFunc', 'SQLValueFunction', 'XmlExpr', 'XmlSerialize'],
  ...['Integer', 'Float', 'Boolean', 'String', 'BitString'],
  ...['JsonTable', 'JsonTableColumn', 'JsonTablePathSpec', 'JsonTablePath', 'JsonArgument', 'JsonBehavior'],
  ...['JsonFormat', 'JsonValueExpr', 'JsonOutput', 'JsonReturning', 'JsonFuncExpr', 'JsonIsPredicate', 'JsonKeyValue'],
  ...['JsonObjectConstructor', 'JsonArrayConstructor', 'JsonArrayQueryConstructor', 'JsonAggConstructor'],
  ...['JsonObjectAgg', 'JsonArrayAgg', 'JsonParseExpr', 'JsonScalarExpr', 'JsonSerializeExpr'],
]);

/** Statements that change rows. */
export const CHANGE_STATEMENTS: ReadonlySet<string> = new Set(['InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt']);

/** Further nodes inside INSERT, UPDATE, DELETE and MERGE. */
export const CHANGE_NODES: ReadonlySet<string> = new Set([
  ...['SetToDefault', 'MultiAssignRef', 'MergeWhenClause', 'MergeSupportFunc', 'IndexElem', 'OnConflictClause'],
  ...['InferClause', 'ReturningClause', 'ReturningOption', 'LockingClause'],
]);

/** Further nodes inside statements that change tables, indexes, views, sequences and types. */
export const DEFINITION_NODES: ReadonlySet<string> = new Set([
  ...['IndexElem', 'Constraint', 'DefElem', 'AlterTableCmd', 'TableLikeClause', 'IntoClause'],
  ...['PartitionSpec', 'PartitionElem', 'PartitionBoundSpec', 'PartitionRangeDatum', 'PartitionCmd'],
]);

/** Fields whose object is a node without its name, with the name of that node. */
export const NODE_OF_FIELD: Readonly<Record<string, string>> = {
  withClause: 'WithClause',
  intoClause: 'IntoClause',
  into: 'IntoClause',
  larg: 'SelectStmt',
  rarg: 'SelectStmt',
  relation: 'RangeVar',
  rel: 'RangeVar',
  view: 'RangeVar',
  sequence: 'RangeVar',
  typevar: 'RangeVar',
  pktable: 'RangeVar',
  alias: 'Alias',
  join_using_alias: 'Alias',
  typeName: 'TypeName',
  ofTypename: 'TypeName',
  over: 'WindowDef',
  collClause: 'CollateClause',
  search_clause: 'CTESearchClause',
  cycle_clause: 'CTECycleClause',
  onConflictClause: 'OnConflictClause',
  infer: 'InferClause',
  returningClause: 'ReturningClause',
  partbound: 'PartitionBoundSpec',
  bound: 'PartitionBoundSpec',
  partspec: 'PartitionSpec',
  context_item: 'JsonValueExpr',
  value: 'JsonValueExpr',
  pathspec: 'JsonTablePathSpec',
  format: 'JsonFormat',
  output: 'JsonOutput',
  returning: 'JsonReturning',
  on_empty: 'JsonBehavior',
  on_error: 'JsonBehavior',
  constructor: 'JsonAggConstructor',
  arg: 'JsonKeyValue',
  expr: 'JsonValueExpr',
  val: 'JsonValueExpr',
  ival: 'Integer',
  fval: 'Float',
  boolval: 'Boolean',
  sval: 'String',
  bsval: 'BitString',
};

/** The SQL words of nodes whose own name does not tell. */
const WORDS: Readonly<Record<string, string>> = {
  VariableSetStmt: 'SET',
  VariableShowStmt: 'SHOW',
  TransactionStmt: 'A transaction command',
  IntoClause: 'INTO',
  LockingClause: 'A locking clause (FOR UPDATE, FOR SHARE)',
  CreateTableAsStmt: 'CREATE TABLE AS',
  CreateStmt: 'CREATE TABLE',
  CreateSeqStmt: 'CREATE SEQUENCE',
  AlterSeqStmt: 'ALTER SEQUENCE',
  IndexStmt: 'CREATE INDEX',
  ViewStmt: 'CREATE VIEW',
  RuleStmt: 'CREATE RULE',
  CreatedbStmt: 'CREATE DATABASE',
  CreateTrigStmt: 'CREATE TRIGGER',
  CreatePLangStmt: 'CREATE LANGUAGE',
  DropdbStmt: 'DROP DATABASE',
  GrantRoleStmt: 'GRANT of a role',
  GrantStmt: 'GRANT or REVOKE',
  RefreshMatViewStmt: 'REFRESH MATERIALIZED VIEW',
  CheckPointStmt: 'CHECKPOINT',
  CompositeTypeStmt: 'CREATE TYPE',
  DefineStmt: 'CREATE of this kind',
  RenameStmt: 'RENAME',
  CurrentOfExpr: 'CURRENT OF',
};

/** Returns the SQL words of a node, such as `CREATE FUNCTION` for `CreateFunctionStmt`. */
export function sqlWordsOf(node: string): string {
  const known = WORDS[node];
  if (known) return known;
  return node
    .replace(/Stmt$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toUpperCase();
}
