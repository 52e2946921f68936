import { createHash } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import type { Clock } from '../../core/time.ts';
import type { ConnectTicket, PendingSignIn, RememberedRefusal, SignInBook } from '../sign-in-book.ts';
import { type SqlRow, type Statements, sql } from '../statements.ts';
import { type RowSealer, unknownKey } from './row-sealer.ts';
import { tableIn } from './vault-tables.ts';

/** A row of the table `sign_ins`: a sign-in in progress, or a ticket. It has the hash of a secret that opens it once. */
export interface SignInRow extends SqlRow {
  readonly kind: 'sign-in' | 'ticket';
  readonly hash: string;
  readonly key_name: string;
  readonly server: string;
  readonly principal: string;
  readonly issuer: string;
  readonly resource: string;
  readonly sealed: string;
  readonly expires_at: number;
}

type SignInLabel = Pick<SignInRow, 'kind' | 'hash' | 'server' | 'principal' | 'issuer' | 'resource' | 'expires_at'>;

interface NewRow {
  readonly label: SignInLabel;
  readonly content: object;
}

/** The associated data of a sign-in in progress or a ticket. */
export function signInContext(label: SignInLabel): readonly string[] {
  const { kind, hash, server, principal, issuer, resource, expires_at } = label;
  return [kind, issuer, resource, principal, server, hash, String(expires_at)];
}

export interface SignInRowsOptions {
  readonly statements: Statements;
  readonly sealer: RowSealer;
  readonly clock: Clock;
}

/** Sign-ins in progress, tickets and refusals in the tables `sign_ins` and `refusals`. */
export function signInBook(options: SignInRowsOptions): SignInBook {
  const rows = singleUseRows(options);
  return {
    async begin({ state, serverUrl, principal, issuer, resource, expiresAt, ...content }) {
      const place = { server: serverUrl, principal, issuer, resource };
      await rows.add({ label: { kind: 'sign-in', hash: hashOf(state), ...place, expires_at: expiresAt }, content });
    },
    async take(state, { serverUrl, principal }) {
      const found = await rows.read('sign-in', state);
      const isOwn = found?.row.server === serverUrl && found.row.principal === principal;
      const taken = isOwn ? await rows.take(found) : undefined;
      return taken && { ...toSignIn(taken), state };
    },
    async pending(serverUrl, principal) {
      const found = await rows.list(serverUrl, principal);
      return found.map((row) => {
        const { verifier, ...rest } = toSignIn(row);
        return rest;
      });
    },
    async issueTicket({ ticket, server, principal, expiresAt, ...content }) {
      const place = { server, principal, issuer: '', resource: '' };
      await rows.add({ label: { kind: 'ticket', hash: hashOf(ticket), ...place, expires_at: expiresAt }, content });
    },
    async readTicket(ticket) {
      const found = await rows.read('ticket', ticket);
      return found && { ...toTicket(found), ticket };
    },
    async takeTicket(ticket) {
      const found = await rows.read('ticket', ticket);
      const taken = found && (await rows.take(found));
      return taken && { ...toTicket(taken), ticket };
    },
    abandon: (principal) => rows.removeAll(principal),
    ...refusalRows(options),
  };
}

interface OpenedRow {
  readonly row: SignInRow;
  readonly content: JsonObject;
}

function toSignIn({ row, content }: OpenedRow): Omit<PendingSignIn, 'state'> {
  const { server: serverUrl, principal, issuer, resource, expires_at: expiresAt } = row;
  return { ...(content as unknown as PendingSignIn), serverUrl, principal, issuer, resource, expiresAt };
}

function toTicket({ row, content }: OpenedRow): Omit<ConnectTicket, 'ticket'> {
  const { server, principal, expires_at: expiresAt } = row;
  return { ...(content as unknown as ConnectTicket), server, principal, expiresAt };
}

function singleUseRows({ statements, sealer, clock }: SignInRowsOptions) {
  const signIns = tableIn(statements, 'sign_ins');

  /** Opens a row. One that was changed counts as absent: the sign-in has to begin again. */
  async function opened(row: SignInRow): Promise<OpenedRow | undefined> {
    const content = await sealer.open(signInContext(row), row).catch(() => undefined);
    return content && { row, content };
  }

  async function find(kind: SignInRow['kind'], secret: string): Promise<SignInRow | undefined> {
    const found = await statements.read(
      sql`SELECT * FROM ${signIns} WHERE kind = ${kind} AND hash = ${hashOf(secret)} AND expires_at > ${clock()}`,
    );
    return found[0] as SignInRow | undefined;
  }

  /** Reads a row without using it. Throws CONFIG_INVALID if its key is unknown here: another replica may use it. */
  async function read(kind: SignInRow['kind'], secret: string): Promise<OpenedRow | undefined> {
    const row = await find(kind, secret);
    if (row && !(await sealer.knows(row.key_name))) throw unknownKey(`The sign-in to ${row.server}`, row.key_name);
    return row && opened(row);
  }

  return {
    async add({ label, content }: NewRow): Promise<void> {
      const { kind, hash, server, principal, issuer, resource, expires_at } = label;
      const { key_name, sealed } = await sealer.seal(signInContext(label), content);
      await statements.write([
        sql`DELETE FROM ${signIns} WHERE expires_at <= ${clock()}`,
        sql`INSERT INTO ${signIns} (kind, hash, key_name, server, principal, issuer, resource, sealed, expires_at)
          VALUES (${kind}, ${hash}, ${key_name}, ${server}, ${principal}, ${issuer}, ${resource}, ${sealed}, ${expires_at})`,
      ]);
    },
    read,
    /** Removes a row that was read, unless another process removed it or changed its owner meanwhile. */
    async take(found: OpenedRow): Promise<OpenedRow | undefined> {
      const { kind, hash, server, principal } = found.row;
      const [taken = []] = await statements.write([
        sql`DELETE FROM ${signIns} WHERE kind = ${kind} AND hash = ${hash} AND server = ${server}
          AND principal = ${principal} RETURNING hash`,
      ]);
      return taken.length > 0 ? found : undefined;
    },
    async removeAll(principal: string): Promise<void> {
      await statements.write([sql`DELETE FROM ${signIns} WHERE principal = ${principal}`]);
    },
    async list(server: string, principal: string): Promise<readonly OpenedRow[]> {
      const found = await statements.read(
        sql`SELECT * FROM ${signIns} WHERE kind = ${'sign-in'} AND server = ${server} AND principal = ${principal}
          AND expires_at > ${clock()} ORDER BY expires_at`,
      );
      const all = await Promise.all((found as readonly SignInRow[]).map(opened));
      return all.flatMap((one) => one ?? []);
    },
  };
}

function refusalRows({ statements, clock }: SignInRowsOptions): Pick<SignInBook, 'refuse' | 'refusal' | 'forgive'> {
  const refusals = tableIn(statements, 'refusals');
  const grants = tableIn(statements, 'grants');
  return {
    async refuse({ serverUrl, principal, at, until, ...rest }) {
      await statements.write([
        sql`DELETE FROM ${refusals} WHERE ends_at <= ${clock()}`,
        sql`INSERT INTO ${refusals} (server_url, principal, at, ends_at, detail)
          VALUES (${serverUrl}, ${principal}, ${at}, ${until}, ${JSON.stringify(rest)})
          ON CONFLICT (server_url, principal) DO UPDATE
            SET at = excluded.at, ends_at = excluded.ends_at, detail = excluded.detail`,
      ]);
    },
    async refusal(serverUrl, principal) {
      const found = await statements.read(
        sql`SELECT * FROM ${refusals}
          WHERE server_url = ${serverUrl} AND principal = ${principal} AND ends_at > ${clock()} AND NOT EXISTS (
            SELECT 1 FROM ${grants} WHERE ${grants}.server_url = ${refusals}.server_url
              AND ${grants}.principal = ${refusals}.principal AND ${grants}.at > ${refusals}.at)`,
      );
      return found[0] && toRefusal(found[0]);
    },
    async forgive(serverUrl, principal) {
      await statements.write([
        sql`DELETE FROM ${refusals} WHERE server_url = ${serverUrl} AND principal = ${principal}`,
      ]);
    },
  };
}

function toRefusal({ server_url, principal, at, ends_at, detail }: SqlRow): RememberedRefusal {
  const rest = JSON.parse(String(detail)) as Pick<RememberedRefusal, 'scopes' | 'metadataUrl' | 'reason'>;
  const key = { serverUrl: String(server_url), principal: String(principal) };
  return { ...rest, ...key, at: Number(at), until: Number(ends_at) };
}

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
