import { dirname } from 'node:path';
import { HeddleError } from '../core/errors.ts';
import type { Clock } from '../core/time.ts';
import { homeFolder } from '../files/home-folder.ts';
import { lazyApprovals } from './approvals/lazy-approvals.ts';
import type { OpenedApprovals } from './approvals/open-approvals.ts';
import { newestIn, openAuditLog } from './audit/open-audit-log.ts';
import { WriteQueue } from './audit/write-queue.ts';
import type { DatabaseOptions, StoreDatabase } from './database.ts';
import { readTrace } from './queries/searches.ts';
import { serverFailures } from './queries/server-failures.ts';
import { readStats } from './queries/stats.ts';
import { lazyRuns } from './runs/lazy-runs.ts';
import type { Keyring } from './secrets/secret-keychain.ts';
import type { Store } from './store.ts';
import { lazyVault } from './vault/lazy-vault.ts';
import type { Vault } from './vault/open-vault.ts';
import { examineStoreFile, findWriteTrouble, troubleOf } from './writable.ts';

export interface OpenStoreOptions {
  /** A file path (SQLite), `:memory:`, or a `postgres://` URL. */
  readonly location: string;
  readonly clock?: Clock;
  /** `disk`: audit records wait for the disk, not only for the commit. */
  readonly durability?: 'commit' | 'disk';
  /** Heddle's folder of this user, with the key file of the credentials. */
  readonly home?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Loads the keychain. Its key seals credentials if there is no other. */
  readonly keyring?: () => Promise<Keyring | undefined>;
}

const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Opens the store, and creates or migrates its tables. */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { location, clock = Date.now, durability = 'commit' } = options;
  const place = placeOf(location);
  const failed = (cause: unknown) => storeUnavailable(place, cause);
  const database = await openDatabase(location, place, { clock, durability }).catch(async (cause) => {
    throw isFile(location) ? await fileUnavailable(location, cause) : failed(cause);
  });
  const queue = new WriteQueue(database.write, clock, newestIn(database.statements));
  const read = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (cause) {
      throw failed(cause);
    }
  };

  let vault: Promise<Vault> | undefined;
  const loadVault = () => {
    vault ??= openCredentials(database, options);
    return vault;
  };

  let approvals: Promise<OpenedApprovals> | undefined;
  const loadApprovals = () => {
    approvals ??= import('./approvals/open-approvals.ts').then(({ openApprovals }) =>
      openApprovals(database.statements),
    );
    return approvals;
  };

  const failures = serverFailures(database.statements);
  const workflow = lazyRuns({ statements: database.statements, queue, clock, guard: read });

  return {
    ...lazyApprovals((work) => read(loadApprovals().then(work))),
    ...lazyVault((work) => read(loadVault().then(work))),
    runs: workflow.runs,
    ...(database.isEmbedded && { runQueue: workflow.runQueue }),
    audit: openAuditLog({ database, queue, clock, location, guard: read }),
    traces: {
      append: (span) => queue.appendSpan(span),
      get: (traceId) => read(database.queries().then((db) => readTrace(db, traceId))),
      async stats(since, per = 'name') {
        await queue.spansWritten();
        return read(database.queries().then((db) => readStats(db, since, per)));
      },
    },
    servers: {
      all: () => read(database.servers.all()),
      remember: (memory) => read(database.servers.remember(memory)),
      forget: (entry) => read(database.servers.forget(entry)),
    },
    failures: {
      all: () => read(failures.all()),
      put: (failure) => read(failures.put(failure)),
      remove: (failure) => read(failures.remove(failure)),
    },
    metrics: {
      all: () => read(database.metrics.all()),
      add: (rows) => read(database.metrics.add(rows)),
    },
    keys: {
      all: () => read(database.keys.all()),
      find: (sha256) => read(database.keys.find(sha256)),
      add: (key) => read(database.keys.add(key)),
      remove: (name) => read(database.keys.remove(name)),
    },
    async examine() {
      return isFile(location) ? examineStoreFile(location) : { level: 'ok', subject: 'store', message: place };
    },
    async close() {
      (await approvals)?.close();
      await workflow.close();
      await queue.close().finally(() => database.close());
    },
  };
}

async function openCredentials({ statements }: StoreDatabase, options: OpenStoreOptions): Promise<Vault> {
  const { location, clock = Date.now, env = process.env, home = homeFolder(env), keyring } = options;
  const { openVault } = await import('./vault/open-vault.ts');
  return openVault({ statements, clock, home, env, keyring, isPassing: location === ':memory:' });
}

async function openDatabase(location: string, place: string, options: DatabaseOptions): Promise<StoreDatabase> {
  if (/^postgres(ql)?:\/\//.test(location)) {
    const { openPostgres } = await import('./postgres/open-postgres.ts');
    return openPostgres(location, place, options);
  }
  if (SCHEME.test(location)) {
    throw new HeddleError('STORE_UNAVAILABLE', `The store cannot be opened at ${place}: the URL scheme is unknown.`, {
      fix: 'Set `store` to a file path, `:memory:` or a `postgres://` URL.',
    });
  }
  const { openSqlite } = await import('./sqlite/open-sqlite.ts');
  return openSqlite(location, place, options);
}

/** Returns the location without user, password and parameters, for messages. */
function placeOf(location: string): string {
  const scheme = SCHEME.exec(location)?.[0];
  if (!scheme) return location;
  const url = URL.parse(location);
  return url ? `${scheme}${url.host}${url.pathname}` : `${scheme}…`;
}

const isFile = (location: string) => location !== ':memory:' && !SCHEME.test(location);

/** Explains why a file cannot be used. SQLite reports a full disk, a quota and a limit alike as a disk I/O error. */
async function fileUnavailable(file: string, cause: unknown): Promise<HeddleError> {
  if (HeddleError.is(cause)) return cause;
  const trouble = troubleOf(cause) ?? (await findWriteTrouble(dirname(file)));
  if (!trouble) return storeUnavailable(file, cause);
  const { reason, fix } = trouble;
  return new HeddleError('STORE_UNAVAILABLE', `The store at ${file} cannot be used: ${reason}.`, { cause, fix });
}

function storeUnavailable(place: string, cause: unknown): HeddleError {
  if (HeddleError.is(cause)) return cause;
  // A refused connection is an AggregateError without a message; its code is the cause.
  const { message, code } = cause as { message?: string; code?: string };
  return new HeddleError('STORE_UNAVAILABLE', `The store at ${place} cannot be used: ${message || code}.`, { cause });
}
