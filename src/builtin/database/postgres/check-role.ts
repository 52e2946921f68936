import type { PoolClient } from 'pg';
import type { ConnectionOptions } from '../database.ts';
import { DatabaseFailure } from '../database-failure.ts';

/** Roles that read or write files of the server, or start programs on it. */
const FILE_ROLES: readonly string[] = ['pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'];

// The session may have another role than the one it signed in with. Both count.
const PRIVILEGES_SQL = `
  SELECT r.rolname::text AS role FROM pg_catalog.pg_roles r
  WHERE r.rolname = ANY ($1::pg_catalog.text[])
    AND (pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER') OR pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER'))
  UNION ALL
  SELECT 'superuser' FROM pg_catalog.pg_roles r
  WHERE r.rolsuper AND (pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER') OR pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER'))
  LIMIT 10`;

const WRITABLE_SQL = `
  SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND pg_catalog.has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
  LIMIT 1`;

/** Checks what the role may do besides reading. Returns warnings. Throws for a role that reaches files of the server. */
export async function checkRole(client: PoolClient, options: ConnectionOptions): Promise<readonly string[]> {
  const { name, access, allowPrivilegedRole } = options;
  const { rows } = await client.query<{ role: string }>(PRIVILEGES_SQL, [FILE_ROLES]);
  const isSuperuser = rows.some(({ role }) => role === 'superuser');
  const reason = isSuperuser
    ? 'its role is a superuser'
    : rows.length > 0 && `its role has ${[...new Set(rows.map(({ role }) => role))].join(', ')}`;
  if (reason && !allowPrivilegedRole) {
    const text = `The connection "${name}" is refused: ${reason}, so SQL reaches files and programs of the server. Use a role without it, or set allowPrivilegedRole.`;
    throw new DatabaseFailure('CONNECTION_FAILED', text);
  }
  const warnings: string[] = [];
  if (reason) {
    const text = `The connection "${name}" is open although ${reason} (allowPrivilegedRole). Use a role without it.`;
    warnings.push(text);
  }
  if (access === 'read' && (await client.query(WRITABLE_SQL)).rows.length > 0) {
    warnings.push(
      `The connection "${name}" is for reading, but its role can write tables. Use a role with SELECT only.`,
    );
  }
  return warnings;
}
