// Runs a command with the servers that tests use: `node tools/services.mjs -- command args…`.
import { startMariadb } from './mariadb.mjs';
import { startPostgres } from './postgres.mjs';
import { runWithServices } from './service.mjs';

// MariaDB first: it starts in the background, PostgreSQL does not.
await runWithServices({ HEDDLE_TEST_MARIADB: startMariadb, HEDDLE_TEST_POSTGRES: startPostgres });
