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
  readonly second: string;
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

/** Pragmas that describe tables. Each reads only. Full-text tables read `data_version` themselves. */
const READING_PRAGMAS: ReadonlySet<string> = new Set([
  ...['table_info', 'table_xinfo', 'table_list', 'index_list', 'index_info', 'index_xinfo', 'foreign_key_list'],
  'data_version',
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
        return !FORBIDDEN_FUNCTIONS.has(second.toLowerCase());
      case SQLITE_PRAGMA:
        // ALTER TABLE … ADD COLUMN checks the rows with quick_check.
        return READING_PRAGMAS.has(first.toLowerCase()) || (grant === 'ALTER' && first === 'quick_check');
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
      if (permits(action, { first: first ?? '', second: second ?? '', database: database ?? '' })) {
        isChange ||= definitions?.has(action) === true || CHANGES.has(action);
        return SQLITE_OK;
      }
      refusal ??= describe(action, first ?? '', second ?? '');
      return SQLITE_DENY;
    },
    refusal: () => refusal,
    changes: () => isChange,
  };
}

function describe(action: number, first: string, second: string): RefusedAction {
  const name = NAMES.get(action) ?? 'This';
  const word = name.split(' ')[0] ?? name;
  if (action === SQLITE_FUNCTION) return { construct: `The function ${quote(second)}`, word: second };
  if (action === SQLITE_PRAGMA) return { construct: `PRAGMA ${quote(first)}`, word: first };
  return { construct: first === '' ? name : `${name} ${quote(first)}`, word };
}
