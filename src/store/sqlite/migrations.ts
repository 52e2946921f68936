import type { Migration } from '../migration.ts';

/**
 * The SQLite schema, one migration per version; `PRAGMA user_version` holds the number applied. There are no indexes:
 * each would be one more page to write in every transaction. Searches read from the newest row backwards.
 */
export const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE audit (
       id INTEGER PRIMARY KEY,
       segment TEXT NOT NULL,
       sequence INTEGER NOT NULL,
       hash TEXT NOT NULL,
       call_id TEXT NOT NULL,
       phase TEXT NOT NULL,
       at REAL NOT NULL,
       caller TEXT NOT NULL,
       via TEXT NOT NULL,
       name TEXT NOT NULL,
       detail TEXT NOT NULL
     )`,
    `CREATE TABLE spans (
       id INTEGER PRIMARY KEY,
       trace_id TEXT NOT NULL,
       span_id TEXT NOT NULL,
       parent_id TEXT,
       name TEXT NOT NULL,
       started_at REAL NOT NULL,
       duration_ms REAL NOT NULL,
       outcome TEXT NOT NULL,
       attributes TEXT NOT NULL
     )`,
    `CREATE TABLE servers (
       server TEXT PRIMARY KEY,
       signature TEXT NOT NULL,
       era TEXT NOT NULL,
       tools TEXT NOT NULL,
       at REAL NOT NULL
     )`,
  ],
  [
    `ALTER TABLE servers ADD COLUMN resources TEXT NOT NULL DEFAULT '[]'`,
    `ALTER TABLE servers ADD COLUMN templates TEXT NOT NULL DEFAULT '[]'`,
    `ALTER TABLE servers ADD COLUMN prompts TEXT NOT NULL DEFAULT '[]'`,
  ],
  ['ALTER TABLE spans ADD COLUMN server TEXT'],
  [
    `CREATE TABLE metrics (
       server TEXT NOT NULL,
       tool TEXT NOT NULL,
       total_calls REAL NOT NULL,
       tool_errors REAL NOT NULL,
       error_count REAL NOT NULL,
       avg_latency_ms REAL NOT NULL,
       last_call_time REAL NOT NULL,
       PRIMARY KEY (server, tool)
     )`,
  ],
  [
    `CREATE TABLE api_keys (
       name TEXT PRIMARY KEY,
       sha256 TEXT NOT NULL UNIQUE,
       roles TEXT NOT NULL,
       profile TEXT,
       created_at REAL NOT NULL
     )`,
  ],
  // The old rows lack the client capabilities of their listing, so they are dropped and listed again.
  [
    `DROP TABLE servers`,
    `CREATE TABLE servers (
       server TEXT NOT NULL,
       abilities INTEGER NOT NULL,
       signature TEXT NOT NULL,
       era TEXT NOT NULL,
       at REAL NOT NULL,
       tools TEXT NOT NULL,
       resources TEXT NOT NULL,
       templates TEXT NOT NULL,
       prompts TEXT NOT NULL,
       PRIMARY KEY (server, abilities)
     )`,
  ],
  ['ALTER TABLE servers ADD COLUMN transport TEXT'],
  // `vault_state` has one row: the last epoch of a lease, and the salt of keys that are made from a passphrase.
  [
    `CREATE TABLE vault_state (id INTEGER PRIMARY KEY, epoch REAL NOT NULL, salt TEXT NOT NULL)`,
    `INSERT INTO vault_state VALUES (1, 0, lower(hex(randomblob(16))))`,
    `CREATE TABLE leases (
       name TEXT PRIMARY KEY,
       holder TEXT NOT NULL,
       epoch REAL NOT NULL,
       expires_at REAL NOT NULL
     )`,
    `CREATE TABLE grant_epochs (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       epoch REAL NOT NULL,
       PRIMARY KEY (server_url, principal)
     )`,
    `CREATE TABLE grants (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       key_name TEXT NOT NULL,
       issuer TEXT NOT NULL,
       resource TEXT NOT NULL,
       sealed TEXT NOT NULL,
       epoch REAL NOT NULL,
       at REAL NOT NULL,
       PRIMARY KEY (server_url, principal, key_name)
     )`,
    `CREATE TABLE clients (
       issuer TEXT NOT NULL,
       redirect_uri TEXT NOT NULL,
       key_name TEXT NOT NULL,
       client_id TEXT NOT NULL,
       sealed TEXT NOT NULL,
       epoch REAL NOT NULL,
       PRIMARY KEY (issuer, client_id, key_name)
     )`,
    `CREATE TABLE dpop_keys (
       issuer TEXT NOT NULL,
       principal TEXT NOT NULL,
       key_name TEXT NOT NULL,
       sealed TEXT NOT NULL,
       PRIMARY KEY (issuer, principal, key_name)
     )`,
    `CREATE TABLE sign_ins (
       kind TEXT NOT NULL,
       hash TEXT NOT NULL,
       key_name TEXT NOT NULL,
       server TEXT NOT NULL,
       principal TEXT NOT NULL,
       issuer TEXT NOT NULL,
       resource TEXT NOT NULL,
       sealed TEXT NOT NULL,
       expires_at REAL NOT NULL,
       PRIMARY KEY (kind, hash)
     )`,
    `CREATE TABLE refusals (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       at REAL NOT NULL,
       ends_at REAL NOT NULL,
       detail TEXT NOT NULL,
       PRIMARY KEY (server_url, principal)
     )`,
  ],
  // Approvals and spending. `exact` has the exact arguments until an approval is settled. `approval_state` has one row,
  // which counts the changes and serialises them.
  [
    `CREATE TABLE approvals (
       id TEXT PRIMARY KEY,
       binding TEXT NOT NULL,
       principal TEXT NOT NULL,
       name TEXT NOT NULL,
       status TEXT NOT NULL,
       version INTEGER NOT NULL,
       requested_at REAL NOT NULL,
       expires_at REAL NOT NULL,
       settled_at REAL,
       facts TEXT NOT NULL,
       exact TEXT,
       decisions TEXT NOT NULL,
       notified_at REAL
     )`,
    `CREATE INDEX approvals_binding ON approvals (binding, requested_at)`,
    `CREATE INDEX approvals_status ON approvals (status, requested_at)`,
    `CREATE UNIQUE INDEX approvals_open ON approvals (binding) WHERE status IN ('pending', 'approved')`,
    `CREATE INDEX approvals_due ON approvals (status, expires_at)`,
    `CREATE INDEX approvals_unnotified ON approvals (status, notified_at, requested_at)`,
    `CREATE INDEX approvals_principal ON approvals (principal, status, settled_at)`,
    `CREATE TABLE approval_state (id INTEGER PRIMARY KEY, changes REAL NOT NULL)`,
    `INSERT INTO approval_state VALUES (1, 0)`,
    `CREATE TABLE standing_approvals (
       id TEXT PRIMARY KEY,
       facts TEXT NOT NULL,
       uses_left INTEGER,
       expires_at REAL
     )`,
    `CREATE TABLE spending (
       caller TEXT NOT NULL,
       period TEXT NOT NULL,
       amount REAL NOT NULL,
       PRIMARY KEY (caller, period)
     )`,
  ],
  ['ALTER TABLE audit ADD COLUMN link TEXT'],
  // The calls that wait for an approval, and the proof that the next continuation of each carries.
  [
    `CREATE TABLE approval_calls (
       principal TEXT NOT NULL,
       call_id TEXT NOT NULL,
       approval TEXT NOT NULL,
       at REAL NOT NULL,
       is_cancelled INTEGER NOT NULL,
       digest TEXT,
       nonce TEXT,
       PRIMARY KEY (principal, call_id, approval)
     )`,
    `CREATE INDEX approval_calls_approval ON approval_calls (approval, is_cancelled)`,
    `CREATE INDEX approval_calls_at ON approval_calls (at)`,
  ],
  // Runs of workflows. `due_at` is the time at which a process may claim a run without owner: 0 at once, null never.
  // Signals are numbered within their run. `run_state` has one row, which counts signals and ended runs.
  [
    `CREATE TABLE runs (
       id TEXT PRIMARY KEY,
       workflow TEXT NOT NULL,
       digest TEXT NOT NULL,
       interpreter INTEGER NOT NULL,
       status TEXT NOT NULL,
       caller TEXT NOT NULL,
       call_id TEXT,
       parent TEXT,
       started_at REAL NOT NULL,
       ended_at REAL,
       wake_at REAL,
       due_at REAL,
       owner TEXT,
       error TEXT,
       input TEXT NOT NULL,
       output TEXT,
       signal_seen INTEGER NOT NULL,
       signal_last INTEGER NOT NULL,
       facts TEXT NOT NULL
     )`,
    `CREATE UNIQUE INDEX runs_call ON runs (caller, call_id) WHERE call_id IS NOT NULL`,
    `CREATE INDEX runs_started ON runs (started_at)`,
    `CREATE INDEX runs_caller ON runs (caller, started_at)`,
    `CREATE INDEX runs_parent ON runs (parent) WHERE parent IS NOT NULL`,
    `CREATE INDEX runs_open ON runs (started_at) WHERE ended_at IS NULL`,
    `CREATE INDEX runs_ended ON runs (ended_at) WHERE ended_at IS NOT NULL`,
    `CREATE INDEX runs_due ON runs (due_at, started_at) WHERE owner IS NULL AND due_at IS NOT NULL`,
    `CREATE INDEX runs_owned ON runs (owner) WHERE owner IS NOT NULL`,
    `CREATE TABLE run_entries (
       run TEXT NOT NULL,
       sequence INTEGER NOT NULL,
       at REAL NOT NULL,
       kind TEXT NOT NULL,
       path TEXT NOT NULL,
       detail TEXT NOT NULL,
       PRIMARY KEY (run, sequence)
     )`,
    `CREATE TABLE run_values (sha256 TEXT PRIMARY KEY, json TEXT NOT NULL)`,
    `CREATE TABLE run_value_uses (run TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (run, sha256))`,
    `CREATE INDEX run_value_uses_sha256 ON run_value_uses (sha256)`,
    `CREATE TABLE run_signals (
       run TEXT NOT NULL,
       id INTEGER NOT NULL,
       at REAL NOT NULL,
       kind TEXT NOT NULL,
       caller TEXT NOT NULL,
       detail TEXT NOT NULL,
       PRIMARY KEY (run, id)
     )`,
    `CREATE TABLE run_state (id INTEGER PRIMARY KEY, changes REAL NOT NULL)`,
    `INSERT INTO run_state VALUES (1, 0)`,
  ],
  // The digest of the call that has left its run: an equal call finds it.
  [
    `ALTER TABLE runs ADD COLUMN left_call TEXT`,
    `CREATE INDEX runs_left ON runs (caller, left_call) WHERE left_call IS NOT NULL`,
  ],
  // The configuration of the process that began a run: all projects of a user share this file. The index has the
  // origin, so that a claim passes over runs of other projects without reading them.
  [
    `ALTER TABLE runs ADD COLUMN origin TEXT`,
    `DROP INDEX runs_due`,
    `CREATE INDEX runs_due ON runs (due_at, started_at, origin) WHERE owner IS NULL AND due_at IS NOT NULL`,
  ],
  // Earlier keys have no person behind them: none was declared.
  [`ALTER TABLE api_keys ADD COLUMN person INTEGER NOT NULL DEFAULT 0`],
  // The last failed connections: a command shows those of the last minute.
  [
    `CREATE TABLE server_failures (
       server TEXT NOT NULL, signature TEXT NOT NULL,
       at REAL NOT NULL,
       code TEXT NOT NULL, message TEXT NOT NULL, fix TEXT NOT NULL,
       PRIMARY KEY (server, signature)
     )`,
  ],
  // The old counts do not name their command, so they are dropped.
  [
    `DROP TABLE metrics`,
    `CREATE TABLE metrics (
       server TEXT NOT NULL,
       signature TEXT NOT NULL,
       tool TEXT NOT NULL,
       total_calls REAL NOT NULL,
       tool_errors REAL NOT NULL,
       error_count REAL NOT NULL,
       avg_latency_ms REAL NOT NULL,
       last_call_time REAL NOT NULL,
       PRIMARY KEY (server, signature, tool)
     )`,
  ],
  // The agent of the embedding program that made a call, for statistics per agent.
  [`ALTER TABLE spans ADD COLUMN agent TEXT`],
  // The instructions of a server, for clients that come before it is started.
  [`ALTER TABLE servers ADD COLUMN instructions TEXT`],
  // The extensions that a server declared in its last handshake.
  [`ALTER TABLE servers ADD COLUMN extensions TEXT`],
];
