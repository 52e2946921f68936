// Runs a command with a temporary PostgreSQL server for tests: `node tools/postgres.mjs -- command args…`, or `startPostgres()`.
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { accountOf, freePort, installPackage, isRoot, runQuietly, runWithServices } from './service.mjs';

const SERVERS = '/usr/lib/postgresql';
const CLUSTER_SETTINGS = '/etc/postgresql-common/createcluster.conf';

/**
 * Starts an empty server on a free port of 127.0.0.1. As root, installs Debian's package first if it is missing.
 *
 * @returns {Promise<{ url: string, restart(): Promise<void>, stop(): Promise<void> }>}
 */
export async function startPostgres() {
  const programs = findPrograms() ?? installPrograms();
  // PostgreSQL refuses to run as root.
  const account = isRoot ? findAccount() : undefined;
  const home = mkdtempSync(join(tmpdir(), 'heddle-postgres-'));
  const folder = join(home, 'data');
  const run = (program, ...args) => runAs(account, join(programs, program), args);
  const remove = () => rmSync(home, { recursive: true, force: true });
  try {
    if (account) chownSync(home, account.uid, account.gid);
    run('initdb', '--pgdata', folder, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync');
    const port = await freePort();
    const options = `-c listen_addresses=127.0.0.1 -c port=${port} -c unix_socket_directories='${home}' -c fsync=off`;
    // --wait: returns when the server accepts connections.
    run('pg_ctl', 'start', '--wait', '--pgdata', folder, '--log', join(home, 'log'), '--options', options);
    return {
      url: `postgres://postgres@127.0.0.1:${port}/postgres`,
      async restart() {
        run('pg_ctl', 'restart', '--wait', '--mode', 'fast', '--pgdata', folder, '--log', join(home, 'log'));
      },
      async stop() {
        try {
          run('pg_ctl', 'stop', '--mode', 'immediate', '--pgdata', folder);
        } finally {
          remove();
        }
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Returns the folder of programs of the newest installed version. */
function findPrograms() {
  if (!existsSync(SERVERS)) return undefined;
  const newestFirst = readdirSync(SERVERS).sort((one, other) => Number(other) - Number(one));
  return newestFirst.map((version) => join(SERVERS, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

function installPrograms() {
  if (!isRoot) throw new Error('The tests need a PostgreSQL server. Install one: `sudo apt-get install postgresql`.');
  // The package reads this file while it is installed. Without it, a system server would be created and started.
  if (!existsSync(CLUSTER_SETTINGS)) {
    mkdirSync(join(CLUSTER_SETTINGS, '..'), { recursive: true });
    writeFileSync(CLUSTER_SETTINGS, 'create_main_cluster = false\n');
  }
  installPackage('postgresql');
  const programs = findPrograms();
  if (!programs) throw new Error(`The package postgresql was installed, but there is no server in ${SERVERS}.`);
  return programs;
}

function findAccount() {
  const account = accountOf('postgres');
  if (!account) throw new Error('There is no user `postgres` to run PostgreSQL as. Install the package `postgresql`.');
  return account;
}

function runAs(account, program, args) {
  runQuietly(program, args, { ...account, cwd: '/' });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runWithServices({ HEDDLE_TEST_POSTGRES: startPostgres });
