import type { JsonObject } from '../../../../core/call.ts';

/** Kinds of objects that ALTER, DROP and COMMENT may name. */
const OBJECTS: ReadonlySet<string> = new Set([
  ...['OBJECT_TABLE', 'OBJECT_COLUMN', 'OBJECT_INDEX', 'OBJECT_VIEW', 'OBJECT_MATVIEW', 'OBJECT_SEQUENCE'],
  ...['OBJECT_TYPE', 'OBJECT_DOMAIN', 'OBJECT_ATTRIBUTE', 'OBJECT_TABCONSTRAINT', 'OBJECT_DOMCONSTRAINT'],
]);

// Left out: owners, triggers, rules, row security, tablespaces, replication, storage of foreign tables.
const TABLE_CHANGES: ReadonlySet<string> = new Set([
  ...['AT_AddColumn', 'AT_DropColumn', 'AT_AlterColumnType', 'AT_ColumnDefault', 'AT_DropNotNull', 'AT_SetNotNull'],
  ...['AT_SetExpression', 'AT_DropExpression', 'AT_SetStatistics', 'AT_SetOptions', 'AT_ResetOptions'],
  ...['AT_AddIndex', 'AT_AddConstraint', 'AT_AlterConstraint', 'AT_ValidateConstraint', 'AT_DropConstraint'],
  ...['AT_AddIndexConstraint', 'AT_AddIdentity', 'AT_SetIdentity', 'AT_DropIdentity', 'AT_AttachPartition'],
  ...['AT_DetachPartition', 'AT_AddInherit', 'AT_DropInherit', 'AT_SetRelOptions', 'AT_ResetRelOptions'],
]);

/** Reads a statement. Returns the construct that is not permitted, in words. */
type Rule = (statement: JsonObject) => string | undefined;

const needsObject: (field: string, verb: string) => Rule = (field, verb) => (statement) => {
  const kind = String(statement[field]);
  return OBJECTS.has(kind) ? undefined : `${verb} ${wordsOf(kind)}`;
};

const notConcurrent: (verb: string) => Rule = (verb) => (statement) =>
  statement.concurrent === true ? `${verb} CONCURRENTLY, which cannot run in a transaction,` : undefined;

const both: (one: Rule, other: Rule) => Rule = (one, other) => (statement) => one(statement) ?? other(statement);

const allowed: Rule = () => undefined;

/** Refuses a temporary table, view or sequence: it ends with the call. */
const notTemporary: (field: string) => Rule = (field) => (statement) => {
  const named = statement[field] as JsonObject | undefined;
  const relation = (named?.rel ?? named) as JsonObject | undefined;
  return relation?.relpersistence === 't' ? 'CREATE TEMPORARY, which ends with the call,' : undefined;
};

/** Statements that change tables, indexes, views, sequences and types, each with its rule. */
export const DEFINITIONS: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['CreateStmt', notTemporary('relation')],
  ['CreateTableAsStmt', both(notTemporary('into'), fromQuery)],
  ['ViewStmt', both(notTemporary('view'), fromQuery)],
  ['IndexStmt', notConcurrent('CREATE INDEX')],
  ['CreateSeqStmt', notTemporary('sequence')],
  ['AlterSeqStmt', allowed],
  ['CreateEnumStmt', allowed],
  ['AlterEnumStmt', allowed],
  ['CompositeTypeStmt', allowed],
  ['CreateDomainStmt', allowed],
  ['AlterDomainStmt', allowed],
  ['AlterTableStmt', both(needsObject('objtype', 'ALTER'), tableChanges)],
  ['RenameStmt', needsObject('renameType', 'RENAME of')],
  ['AlterObjectSchemaStmt', needsObject('objectType', 'SET SCHEMA of')],
  ['DropStmt', both(needsObject('removeType', 'DROP'), notConcurrent('DROP INDEX'))],
  ['TruncateStmt', allowed],
  ['CommentStmt', needsObject('objtype', 'COMMENT ON')],
]);

/** Refuses CREATE TABLE AS EXECUTE: the text of the prepared statement is unknown here. */
function fromQuery(statement: JsonObject): string | undefined {
  const query = Object.keys(statement.query ?? {})[0];
  return query === 'SelectStmt' ? undefined : 'CREATE … AS without a query of its own';
}

function tableChanges({ cmds }: JsonObject): string | undefined {
  for (const command of (cmds ?? []) as readonly JsonObject[]) {
    const { subtype, def } = command.AlterTableCmd as JsonObject;
    if (!TABLE_CHANGES.has(String(subtype))) return `ALTER TABLE … ${wordsOf(String(subtype))}`;
    if (subtype === 'AT_DetachPartition' && ((def as JsonObject)?.PartitionCmd as JsonObject)?.concurrent === true) {
      return 'DETACH PARTITION CONCURRENTLY, which cannot run in a transaction,';
    }
  }
  return undefined;
}

/** Converts an identifier of the parser: `AT_ChangeOwner` becomes `CHANGE OWNER`. */
function wordsOf(identifier: string): string {
  return identifier
    .replace(/^(OBJECT|AT)_/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toUpperCase();
}
