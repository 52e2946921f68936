import type { Migration } from '../migration.ts';
import { SCHEMA } from './load-queries.ts';

/** The Postgres schema, one migration per version; `schema_version` holds the number applied. */
export const MIGRATIONS: readonly Migration[] = [
  [
    `CREATE TABLE ${SCHEMA}.audit (
       id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       segment TEXT NOT NULL,
       sequence INTEGER NOT NULL,
       hash TEXT NOT NULL,
       call_id TEXT NOT NULL,
       phase TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       caller TEXT NOT NULL,
       via TEXT NOT NULL,
       name TEXT NOT NULL,
       detail TEXT NOT NULL
     )`,
    `CREATE INDEX audit_at ON ${SCHEMA}.audit (at)`,
    `CREATE INDEX audit_caller ON ${SCHEMA}.audit (caller, at)`,
    `CREATE INDEX audit_call ON ${SCHEMA}.audit (call_id)`,
    `CREATE TABLE ${SCHEMA}.spans (
       id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
       trace_id TEXT NOT NULL,
       span_id TEXT NOT NULL,
       parent_id TEXT,
       name TEXT NOT NULL,
       started_at DOUBLE PRECISION NOT NULL,
       duration_ms DOUBLE PRECISION NOT NULL,
       outcome TEXT NOT NULL,
       attributes TEXT NOT NULL
     )`,
    `CREATE INDEX spans_trace ON ${SCHEMA}.spans (trace_id)`,
    `CREATE INDEX spans_started ON ${SCHEMA}.spans (started_at)`,
    `CREATE TABLE ${SCHEMA}.servers (
       server TEXT PRIMARY KEY,
       signature TEXT NOT NULL,
       era TEXT NOT NULL,
       tools TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL
     )`,
  ],
  [
    `ALTER TABLE ${SCHEMA}.servers ADD COLUMN resources TEXT NOT NULL DEFAULT '[]'`,
    `ALTER TABLE ${SCHEMA}.servers ADD COLUMN templates TEXT NOT NULL DEFAULT '[]'`,
    `ALTER TABLE ${SCHEMA}.servers ADD COLUMN prompts TEXT NOT NULL DEFAULT '[]'`,
  ],
  [`ALTER TABLE ${SCHEMA}.spans ADD COLUMN server TEXT`],
  [
    `CREATE TABLE ${SCHEMA}.metrics (
       server TEXT NOT NULL,
       tool TEXT NOT NULL,
       total_calls DOUBLE PRECISION NOT NULL,
       tool_errors DOUBLE PRECISION NOT NULL,
       error_count DOUBLE PRECISION NOT NULL,
       avg_latency_ms DOUBLE PRECISION NOT NULL,
       last_call_time DOUBLE PRECISION NOT NULL,
       CONSTRAINT metrics_key PRIMARY KEY (server, tool)
     )`,
  ],
  [
    `CREATE TABLE ${SCHEMA}.api_keys (
       name TEXT PRIMARY KEY,
       sha256 TEXT NOT NULL UNIQUE,
       roles TEXT NOT NULL,
       profile TEXT,
       created_at DOUBLE PRECISION NOT NULL
     )`,
  ],
  // The old rows lack the client capabilities of their listing, so they are dropped and listed again.
  [
    `DROP TABLE ${SCHEMA}.servers`,
    `CREATE TABLE ${SCHEMA}.servers (
       server TEXT NOT NULL,
       abilities INTEGER NOT NULL,
       signature TEXT NOT NULL,
       era TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       tools TEXT NOT NULL,
       resources TEXT NOT NULL,
       templates TEXT NOT NULL,
       prompts TEXT NOT NULL,
       CONSTRAINT servers_key PRIMARY KEY (server, abilities)
     )`,
  ],
  [`ALTER TABLE ${SCHEMA}.servers ADD COLUMN transport TEXT`],
  // `vault_state` has one row: the last epoch of a lease, and the salt of keys that are made from a passphrase.
  [
    `CREATE TABLE ${SCHEMA}.vault_state (id INTEGER PRIMARY KEY, epoch DOUBLE PRECISION NOT NULL, salt TEXT NOT NULL)`,
    `INSERT INTO ${SCHEMA}.vault_state VALUES (1, 0, replace(gen_random_uuid()::text, '-', ''))`,
    `CREATE TABLE ${SCHEMA}.leases (
       name TEXT PRIMARY KEY,
       holder TEXT NOT NULL,
       epoch DOUBLE PRECISION NOT NULL,
       expires_at DOUBLE PRECISION NOT NULL
     )`,
    `CREATE TABLE ${SCHEMA}.grant_epochs (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       epoch DOUBLE PRECISION NOT NULL,
       CONSTRAINT grant_epochs_key PRIMARY KEY (server_url, principal)
     )`,
    `CREATE TABLE ${SCHEMA}.grants (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       key_name TEXT NOT NULL,
       issuer TEXT NOT NULL,
       resource TEXT NOT NULL,
       sealed TEXT NOT NULL,
       epoch DOUBLE PRECISION NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       CONSTRAINT grants_key PRIMARY KEY (server_url, principal, key_name)
     )`,
    `CREATE TABLE ${SCHEMA}.clients (
       issuer TEXT NOT NULL,
       redirect_uri TEXT NOT NULL,
       key_name TEXT NOT NULL,
       client_id TEXT NOT NULL,
       sealed TEXT NOT NULL,
       epoch DOUBLE PRECISION NOT NULL,
       CONSTRAINT clients_key PRIMARY KEY (issuer, client_id, key_name)
     )`,
    `CREATE TABLE ${SCHEMA}.dpop_keys (
       issuer TEXT NOT NULL,
       principal TEXT NOT NULL,
       key_name TEXT NOT NULL,
       sealed TEXT NOT NULL,
       CONSTRAINT dpop_keys_key PRIMARY KEY (issuer, principal, key_name)
     )`,
    `CREATE TABLE ${SCHEMA}.sign_ins (
       kind TEXT NOT NULL,
       hash TEXT NOT NULL,
       key_name TEXT NOT NULL,
       server TEXT NOT NULL,
       principal TEXT NOT NULL,
       issuer TEXT NOT NULL,
       resource TEXT NOT NULL,
       sealed TEXT NOT NULL,
       expires_at DOUBLE PRECISION NOT NULL,
       CONSTRAINT sign_ins_key PRIMARY KEY (kind, hash)
     )`,
    `CREATE TABLE ${SCHEMA}.refusals (
       server_url TEXT NOT NULL,
       principal TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       ends_at DOUBLE PRECISION NOT NULL,
       detail TEXT NOT NULL,
       CONSTRAINT refusals_key PRIMARY KEY (server_url, principal)
     )`,
  ],
  // Approvals and spending. `exact` has the exact arguments until an approval is settled. `approval_state` has one row,
  // which counts the changes and serialises them.
  [
    `CREATE TABLE ${SCHEMA}.approvals (
       id TEXT PRIMARY KEY,
       binding TEXT NOT NULL,
       principal TEXT NOT NULL,
       name TEXT NOT NULL,
       status TEXT NOT NULL,
       version INTEGER NOT NULL,
       requested_at DOUBLE PRECISION NOT NULL,
       expires_at DOUBLE PRECISION NOT NULL,
       settled_at DOUBLE PRECISION,
       facts TEXT NOT NULL,
       exact TEXT,
       decisions TEXT NOT NULL,
       notified_at DOUBLE PRECISION
     )`,
    `CREATE INDEX approvals_binding ON ${SCHEMA}.approvals (binding, requested_at)`,
    `CREATE INDEX approvals_status ON ${SCHEMA}.approvals (status, requested_at)`,
    `CREATE UNIQUE INDEX approvals_open ON ${SCHEMA}.approvals (binding) WHERE status IN ('pending', 'approved')`,
    `CREATE INDEX approvals_due ON ${SCHEMA}.approvals (status, expires_at)`,
    `CREATE INDEX approvals_unnotified ON ${SCHEMA}.approvals (status, notified_at, requested_at)`,
    `CREATE INDEX approvals_principal ON ${SCHEMA}.approvals (principal, status, settled_at)`,
    `CREATE TABLE ${SCHEMA}.approval_state (id INTEGER PRIMARY KEY, changes DOUBLE PRECISION NOT NULL)`,
    `INSERT INTO ${SCHEMA}.approval_state VALUES (1, 0)`,
    `CREATE TABLE ${SCHEMA}.standing_approvals (
       id TEXT PRIMARY KEY,
       facts TEXT NOT NULL,
       uses_left INTEGER,
       expires_at DOUBLE PRECISION
     )`,
    `CREATE TABLE ${SCHEMA}.spending (
       caller TEXT NOT NULL,
       period TEXT NOT NULL,
       amount DOUBLE PRECISION NOT NULL,
       CONSTRAINT spending_key PRIMARY KEY (caller, period)
     )`,
  ],
  [`ALTER TABLE ${SCHEMA}.audit ADD COLUMN link TEXT`],
  // The calls that wait for an approval, and the proof that the next continuation of each carries.
  [
    `CREATE TABLE ${SCHEMA}.approval_calls (
       principal TEXT NOT NULL,
       call_id TEXT NOT NULL,
       approval TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       is_cancelled INTEGER NOT NULL,
       digest TEXT,
       nonce TEXT,
       CONSTRAINT approval_calls_key PRIMARY KEY (principal, call_id, approval)
     )`,
    `CREATE INDEX approval_calls_approval ON ${SCHEMA}.approval_calls (approval, is_cancelled)`,
    `CREATE INDEX approval_calls_at ON ${SCHEMA}.approval_calls (at)`,
  ],
  // Compared by bytes, as in SQLite, so that the index finds ids by their beginning.
  [`ALTER TABLE ${SCHEMA}.approvals ALTER COLUMN id TYPE TEXT COLLATE "C"`],
  // Runs of workflows. `due_at` is the time at which a process may claim a run without owner: 0 at once, null never.
  // Signals are numbered within their run. `run_state` has one row, which counts signals and ended runs.
  [
    `CREATE TABLE ${SCHEMA}.runs (
       id TEXT COLLATE "C" PRIMARY KEY,
       workflow TEXT NOT NULL,
       digest TEXT NOT NULL,
       interpreter INTEGER NOT NULL,
       status TEXT NOT NULL,
       caller TEXT NOT NULL,
       call_id TEXT,
       parent TEXT,
       started_at DOUBLE PRECISION NOT NULL,
       ended_at DOUBLE PRECISION,
       wake_at DOUBLE PRECISION,
       due_at DOUBLE PRECISION,
       owner TEXT,
       error TEXT,
       input TEXT NOT NULL,
       output TEXT,
       signal_seen INTEGER NOT NULL,
       signal_last INTEGER NOT NULL,
       facts TEXT NOT NULL
     )`,
    `CREATE UNIQUE INDEX runs_call ON ${SCHEMA}.runs (caller, call_id) WHERE call_id IS NOT NULL`,
    `CREATE INDEX runs_started ON ${SCHEMA}.runs (started_at)`,
    `CREATE INDEX runs_caller ON ${SCHEMA}.runs (caller, started_at)`,
    `CREATE INDEX runs_parent ON ${SCHEMA}.runs (parent) WHERE parent IS NOT NULL`,
    `CREATE INDEX runs_open ON ${SCHEMA}.runs (started_at) WHERE ended_at IS NULL`,
    `CREATE INDEX runs_ended ON ${SCHEMA}.runs (ended_at) WHERE ended_at IS NOT NULL`,
    `CREATE INDEX runs_due ON ${SCHEMA}.runs (due_at, started_at) WHERE owner IS NULL AND due_at IS NOT NULL`,
    `CREATE INDEX runs_owned ON ${SCHEMA}.runs (owner) WHERE owner IS NOT NULL`,
    `CREATE TABLE ${SCHEMA}.run_entries (
       run TEXT COLLATE "C" NOT NULL,
       sequence INTEGER NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       kind TEXT NOT NULL,
       path TEXT NOT NULL,
       detail TEXT NOT NULL,
       PRIMARY KEY (run, sequence)
     )`,
    `CREATE TABLE ${SCHEMA}.run_values (sha256 TEXT PRIMARY KEY, json TEXT NOT NULL)`,
    `CREATE TABLE ${SCHEMA}.run_value_uses (run TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (run, sha256))`,
    `CREATE INDEX run_value_uses_sha256 ON ${SCHEMA}.run_value_uses (sha256)`,
    `CREATE TABLE ${SCHEMA}.run_signals (
       run TEXT NOT NULL,
       id INTEGER NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       kind TEXT NOT NULL,
       caller TEXT NOT NULL,
       detail TEXT NOT NULL,
       PRIMARY KEY (run, id)
     )`,
    `CREATE TABLE ${SCHEMA}.run_state (id INTEGER PRIMARY KEY, changes DOUBLE PRECISION NOT NULL)`,
    `INSERT INTO ${SCHEMA}.run_state VALUES (1, 0)`,
  ],
  // The digest of the call that has left its run: an equal call finds it.
  [
    `ALTER TABLE ${SCHEMA}.runs ADD COLUMN left_call TEXT`,
    `CREATE INDEX runs_left ON ${SCHEMA}.runs (caller, left_call) WHERE left_call IS NOT NULL`,
  ],
  // The configuration of the process that began a run. Replicas are identical by definition, so it selects nothing here.
  [`ALTER TABLE ${SCHEMA}.runs ADD COLUMN origin TEXT`],
  // Earlier keys have no person behind them: none was declared.
  [`ALTER TABLE ${SCHEMA}.api_keys ADD COLUMN person INTEGER NOT NULL DEFAULT 0`],
  // The last failed connections: a command shows those of the last minute.
  [
    `CREATE TABLE ${SCHEMA}.server_failures (
       server TEXT NOT NULL, signature TEXT NOT NULL,
       at DOUBLE PRECISION NOT NULL,
       code TEXT NOT NULL, message TEXT NOT NULL, fix TEXT NOT NULL,
       PRIMARY KEY (server, signature)
     )`,
  ],
  // The old counts do not name their command, so they are dropped.
  [
    `DROP TABLE ${SCHEMA}.metrics`,
    `CREATE TABLE ${SCHEMA}.metrics (
       server TEXT NOT NULL,
       signature TEXT NOT NULL,
       tool TEXT NOT NULL,
       total_calls DOUBLE PRECISION NOT NULL,
       tool_errors DOUBLE PRECISION NOT NULL,
       error_count DOUBLE PRECISION NOT NULL,
       avg_latency_ms DOUBLE PRECISION NOT NULL,
       last_call_time DOUBLE PRECISION NOT NULL,
       CONSTRAINT metrics_key PRIMARY KEY (server, signature, tool)
     )`,
  ],
  // The agent of the embedding program that made a call, for statistics per agent.
  [`ALTER TABLE ${SCHEMA}.spans ADD COLUMN agent TEXT`],
  // The instructions of a server, for clients that come before it is started.
  [`ALTER TABLE ${SCHEMA}.servers ADD COLUMN instructions TEXT`],
  // The extensions that a server declared in its last handshake. Capability sets with extensions are up to 2^53.
  [
    `ALTER TABLE ${SCHEMA}.servers ADD COLUMN extensions TEXT`,
    `ALTER TABLE ${SCHEMA}.servers ALTER COLUMN abilities TYPE DOUBLE PRECISION`,
  ],
];
