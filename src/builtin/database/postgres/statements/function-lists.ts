// Functions that are refused everywhere, by the beginning of their name: they wait, lock, signal, read files of the
// server, run SQL text or open further connections.
const DANGEROUS_BEGINNINGS: readonly string[] = [
  ...['pg_sleep', 'pg_advisory', 'pg_try_advisory', 'pg_read_', 'pg_ls_', 'pg_logical_', 'pg_replication_'],
  ...['pg_create_', 'pg_drop_', 'pg_copy_', 'pg_stat_reset', 'pg_stat_statements_reset', 'pg_file_', 'pg_log_'],
  ...['pg_wal_replay', 'pg_start_', 'pg_stop_', 'pg_backup_', 'pg_restore_', 'pg_clear_', 'pg_sync_', 'pg_logdir'],
  ...['pg_replslot', 'pg_import_', 'pg_prewarm', 'autoprewarm', 'pg_buffercache_evict', 'pg_rotate_', 'pg_extension_'],
  ...['lo_', 'dblink', 'http_', 'query_to_xml', 'cursor_to_xml', 'database_to_xml', 'schema_to_xml', 'crosstab'],
  ...['binary_upgrade_', 'injection_points_', 'postgres_fdw_', 'heap_force_'],
];

const DANGEROUS: ReadonlySet<string> = new Set([
  ...['loread', 'lowrite', 'http', 'set_config', 'pg_notify', 'pg_reload_conf', 'pg_switch_wal', 'pg_stat_file'],
  ...['pg_terminate_backend', 'pg_cancel_backend', 'pg_promote', 'pg_export_snapshot', 'pg_hba_file_rules'],
  ...['pg_ident_file_mappings', 'pg_show_all_file_settings'],
  ...['ts_stat', 'ts_rewrite', 'connectby', 'xpath_table', 'pg_nextoid', 'gin_clean_pending_list'],
  ...['brin_summarize_new_values', 'brin_summarize_range', 'brin_desummarize_range'],
  ...['pg_truncate_visibility_map', 'pg_stat_force_next_flush', 'pg_stat_clear_snapshot', 'pg_config'],
]);

// Dangerous functions that the configuration may permit: they wait, or run SQL text in the transaction of the statement.
const LIFTABLE_BEGINNINGS: readonly string[] = [
  ...['pg_sleep', 'query_to_xml', 'cursor_to_xml', 'crosstab', 'connectby', 'ts_stat', 'ts_rewrite', 'xpath_table'],
];

// Stable for Postgres, but a reader has no business with them: they take a transaction id.
const CHANGES_STATE: ReadonlySet<string> = new Set(['txid_current', 'pg_current_xact_id']);

// Volatile because their result differs from call to call. They change nothing.
const HARMLESS: ReadonlySet<string> = new Set([
  ...['random', 'random_normal', 'normal_rand', 'clock_timestamp', 'timeofday', 'gen_random_uuid', 'gen_random_bytes'],
  ...['gen_salt', 'uuidv4', 'uuidv7', 'uuid_generate_v1', 'uuid_generate_v1mc', 'uuid_generate_v4'],
  ...['pg_database_size', 'pg_tablespace_size', 'pg_relation_size', 'pg_table_size', 'pg_indexes_size'],
  ...['pg_total_relation_size', 'pg_blocking_pids', 'pg_safe_snapshot_blocking_pids', 'pg_lock_status'],
  ...['pg_is_in_recovery', 'pg_current_wal_lsn', 'pg_current_wal_flush_lsn', 'pg_current_wal_insert_lsn'],
  ...['pg_last_wal_receive_lsn', 'pg_last_wal_replay_lsn', 'pg_last_xact_replay_timestamp', 'pg_last_committed_xact'],
  ...[
    'pg_xact_status',
    'txid_status',
    'pg_xact_commit_timestamp',
    'pg_listening_channels',
    'pg_notification_queue_usage',
  ],
  ...['currval', 'lastval', 'pg_control_checkpoint', 'pg_control_init', 'pg_control_recovery', 'pg_control_system'],
  ...['pg_get_backend_memory_contexts', 'pg_get_shmem_allocations', 'pg_get_multixact_members', 'pg_prepared_xact'],
  ...['pg_get_wal_replay_pause_state', 'pg_is_wal_replay_paused', 'pg_get_wal_resource_managers'],
  ...['pg_stat_get_recovery_prefetch', 'pg_stat_have_stats', 'pg_show_replication_origin_status'],
  ...['pg_xact_commit_timestamp_origin', 'pg_database_collation_actual_version', 'amvalidate'],
  ...['current_query', 'pg_partition_tree', 'pg_partition_ancestors', 'pg_sequence_last_value', 'pg_jit_available'],
  ...[
    'pg_collation_actual_version',
    'pg_current_logfile',
    'pgstattuple',
    'pgstattuple_approx',
    'pgstatindex',
    'pg_relpages',
  ],
]);

/** Returns true for a function that no statement may call. */
export function isDangerousFunction(name: string): boolean {
  return DANGEROUS.has(name) || DANGEROUS_BEGINNINGS.some((beginning) => name.startsWith(beginning));
}

/** Returns true for a dangerous function that the setting `allowFunctions` may permit. */
export const isLiftableFunction = (name: string): boolean =>
  LIFTABLE_BEGINNINGS.some((beginning) => name.startsWith(beginning));

/** Returns true for a function that a read-only statement may not call although Postgres takes it for stable. */
export const changesState = (name: string): boolean => CHANGES_STATE.has(name);

/** Returns true for a volatile function that a read-only statement may call. */
export const isHarmlessFunction = (name: string): boolean => HARMLESS.has(name);
