import { constants } from 'node:sqlite';
import { quote } from '../../tool-failure.ts';
import { FORBIDDEN_FUNCTIONS } from './check-sqlite-statement.ts';
import type { ChildGrant } from './child-messages.ts';

/** The first thing that an authorizer refused, in the words of SQL. */
export interface RefusedAction {
  readonly construct: string;
  /** The word of the statement to which it belongs. */
  readonly word: string;
}

/** The arguments of an action. Their meaning depends on it. */
interface Details {
  readonly first: string;
  /** Null for a pragma without a value. */
  readonly second: string | null;
  readonly database: string;
}

export interface Authorizer {
  /** The callback of SQLite: every action of a statement, of its views and its triggers. */
  readonly decide: (action: number, first: string | null, second: string | null, database: string | null) => number;
  refusal(): RefusedAction | undefined;
  /** True after a statement that changes rows or definitions. */
  changes(): boolean;
}

const {
  SQLITE_OK,
  SQLITE_DENY,
  SQLITE_SELECT,
  SQLITE_READ,
  SQLITE_FUNCTION,
  SQLITE_RECURSIVE,
  SQLITE_PRAGMA,
  SQLITE_INSERT,
  SQLITE_UPDATE,
  SQLITE_DELETE,
} = constants;

const CHANGES: ReadonlySet<number> = new Set([SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE]);

/** Pragmas that read, also with a value: it names a table or limits the rows. */
const DESCRIBING_PRAGMAS: ReadonlySet<string> = new Set([
  ...['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'index_xinfo', 'foreign_key_list'],
  ...['foreign_key_check', 'integrity_check', 'quick_check'],
]);

/**
 * Pragmas that read without a value. With one, most of them write. Full-text tables read `data_version` themselves.
 * `journal_mode` is missing: SQLite reports `delete` for a WAL file that it reads without locks.
 */
const READING_PRAGMAS: ReadonlySet<string> = new Set([
  ...['application_id', 'auto_vacuum', 'encoding', 'freelist_count', 'max_page_count', 'page_count', 'page_size'],
  ...['schema_version', 'user_version', 'data_version'],
  ...['collation_list', 'compile_options', 'function_list', 'module_list', 'pragma_list'],
  ...['analysis_limit', 'automatic_index', 'busy_timeout', 'cache_size', 'cache_spill', 'cell_size_check'],
  ...['checkpoint_fullfsync', 'defer_foreign_keys', 'foreign_keys', 'fullfsync', 'hard_heap_limit'],
  ...['ignore_check_constraints', 'journal_size_limit', 'legacy_alter_table', 'locking_mode', 'mmap_size'],
  ...['query_only', 'read_uncommitted', 'recursive_triggers', 'reverse_unordered_selects', 'secure_delete'],
  ...['soft_heap_limit', 'synchronous', 'temp_store', 'threads', 'trusted_schema', 'wal_autocheckpoint'],
  'writable_schema',
]);

const DEFINITIONS: Readonly<Record<'CREATE' | 'ALTER' | 'DROP', ReadonlySet<number>>> = {
  CREATE: new Set([
    ...[constants.SQLITE_CREATE_TABLE, constants.SQLITE_CREATE_INDEX, constants.SQLITE_CREATE_VIEW],
    constants.SQLITE_REINDEX, // Fills a new index.
  ]),
  ALTER: new Set([constants.SQLITE_ALTER_TABLE, constants.SQLITE_REINDEX]),
  DROP: new Set([
    ...[constants.SQLITE_DROP_TABLE, constants.SQLITE_DROP_INDEX, constants.SQLITE_DROP_VIEW],
    ...[constants.SQLITE_DROP_TRIGGER, constants.SQLITE_DROP_VTABLE], // Those of a dropped table.
  ]),
};

const NAMES = new Map(
  Object.entries(constants)
    .filter(([name]) => !/_(?:OK|DENY|IGNORE)$|CHANGESET/.test(name))
    .map(([name, action]) => [action, name.slice('SQLITE_'.length).replaceAll('_', ' ')]),
);

/** Makes the authorizer of one statement: everything is refused but the actions of its grant. */
export function authorizer(grant: ChildGrant): Authorizer {
  let refusal: RefusedAction | undefined;
  let isChange = false;
  const mayChange = grant !== 'read';
  const definitions = grant === 'read' || grant === 'write' ? undefined : DEFINITIONS[grant];

  function permits(action: number, { first, second, database }: Details): boolean {
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_READ:
      case SQLITE_RECURSIVE:
        return true;
      case SQLITE_FUNCTION:
        return !FORBIDDEN_FUNCTIONS.has((second ?? '').toLowerCase());
      case SQLITE_PRAGMA:
        // ALTER TABLE … ADD COLUMN checks the rows with quick_check.
        return (
          DESCRIBING_PRAGMAS.has(first.toLowerCase()) || (second === null && READING_PRAGMAS.has(first.toLowerCase()))
        );
      case SQLITE_INSERT:
      case SQLITE_UPDATE:
      case SQLITE_DELETE:
        // Only a definition writes the tables of the schema.
        return mayChange && (definitions !== undefined || !first.toLowerCase().startsWith('sqlite_'));
      default:
        // A table of `temp` would be gone with the statement.
        return definitions?.has(action) === true && database !== 'temp';
    }
  }

  return {
    decide(action, first, second, database) {
      if (permits(action, { first: first ?? '', second, database: database ?? '' })) {
        isChange ||= definitions?.has(action) === true || CHANGES.has(action);
        return SQLITE_OK;
      }
      refusal ??= describe(action, first ?? '', second);
      return SQLITE_DENY;
    },
    refusal: () => refusal,
    changes: () => isChange,
  };
}

function describe(action: number, first: string, second: string | null): RefusedAction {
  const name = NAMES.get(action) ?? 'This';
  const word = name.split(' ')[0] ?? name;
  if (action === SQLITE_FUNCTION) return { construct: `The function ${quote(second ?? '')}`, word: second ?? '' };
  if (action === SQLITE_PRAGMA) {
    const isValue = second !== null && READING_PRAGMAS.has(first.toLowerCase());
    return { construct: `${isValue ? 'A value of ' : ''}PRAGMA ${quote(first)}`, word: first };
  }
  return { construct: first === '' ? name : `${name} ${quote(first)}`, word };
}
