// Runs a command with a temporary MariaDB server for tests: `node tools/mariadb.mjs -- command args…`, or `startMariadb()`.
import { spawn } from 'node:child_process';
import { chownSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { accountOf, freePort, installPackage, isRoot, runWithServices } from './service.mjs';

const SERVER = '/usr/sbin/mariadbd';
const SCRIPTS = '/usr/share/mysql';
const START_MS = 120_000;
// Nothing has to survive this server.
const FAST = ['--innodb-flush-log-at-trx-commit=0', '--skip-innodb-doublewrite', '--innodb-buffer-pool-size=32M'];
const SMALL = ['--innodb-log-file-size=8M', '--innodb-use-native-aio=0', '--skip-log-bin', '--max-connections=60'];

/**
 * Starts an empty server on a free port of 127.0.0.1 whose user root has no password. As root, installs Debian's package
 * first if it is missing: it has no system server.
 *
 * @returns {Promise<{ url: string, folder: string, stop(): Promise<void>, restart(): Promise<void> }>}
 */
export async function startMariadb() {
  if (!existsSync(SERVER)) installServer();
  // MariaDB refuses to run as root.
  const account = isRoot ? accountOf('nobody') : undefined;
  const home = mkdtempSync(join(tmpdir(), 'heddle-mariadb-'));
  const folder = join(home, 'data');
  const server = {
    account,
    log: join(home, 'log'),
    options: ['--no-defaults', `--datadir=${folder}`, ...FAST, ...SMALL],
  };
  const remove = () => rmSync(home, { recursive: true, force: true });
  try {
    mkdirSync(folder);
    if (account) for (const path of [home, folder]) chownSync(path, account.uid, account.gid);
    await createSystemTables(server);
    const port = await freePort();
    const listen = ['--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(home, 'socket')}`];
    const start = () =>
      startListening({ ...server, options: [...server.options, ...listen, '--skip-name-resolve'] }, port);
    let running = await start();
    return {
      url: `mysql://root@127.0.0.1:${port}/`,
      folder,
      async restart() {
        await running.kill();
        running = await start();
      },
      async stop() {
        await running.kill();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw error;
  }
}

function installServer() {
  if (!isRoot) {
    throw new Error('The tests need a MariaDB server. Install one: `sudo apt-get install mariadb-server-core`.');
  }
  installPackage('mariadb-server-core');
  if (!existsSync(SERVER)) throw new Error(`The package mariadb-server-core was installed, but there is no ${SERVER}.`);
}

/** Runs the scripts of mariadb-install-db, which needs another package itself. */
async function createSystemTables(server) {
  const scripts = ['system_tables', 'performance_tables', 'system_tables_data', 'sys_schema'].map(readScript);
  const { child, ended } = run({ ...server, options: [...server.options, '--bootstrap'] });
  // A failed start closes the pipe; its exit says why.
  child.stdin.on('error', () => {});
  child.stdin.end(['CREATE DATABASE mysql;', 'USE mysql;', 'SET @auth_root_socket=NULL;', ...scripts, ''].join('\n'));
  const { code } = await ended;
  if (code !== 0) throw failedStart(server.log);
}

/** Reads a script by its name of MariaDB 11 or of earlier versions. */
function readScript(name) {
  const [path] = ['mariadb', 'mysql'].map((prefix) => join(SCRIPTS, `${prefix}_${name}.sql`)).filter(existsSync);
  if (!path) throw new Error(`There is no script ${name} in ${SCRIPTS}. Install Debian's mariadb-server-core.`);
  return readFileSync(path, 'utf8');
}

/** Starts the server and waits until it greets a connection. */
async function startListening(server, port) {
  const { child, ended } = run(server);
  let exited = false;
  void ended.then(() => {
    exited = true;
  });
  const end = performance.now() + START_MS;
  while (!(await greets(port))) {
    if (exited || performance.now() > end) {
      child.kill('SIGKILL');
      throw failedStart(server.log);
    }
    await wait(20);
  }
  return {
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

function run({ account, log, options }) {
  const output = openSync(log, 'a', 0o600);
  // A group of its own: Ctrl-C reaches the tests first.
  const child = spawn(SERVER, options, { ...account, cwd: '/', detached: true, stdio: ['pipe', output, output] });
  closeSync(output);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code }));
  });
  return { child, ended };
}

/** @returns {Promise<boolean>} */
function greets(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (answer) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', () => settle(true));
    socket.once('error', () => settle(false));
    socket.once('close', () => settle(false));
  });
}

function failedStart(log) {
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  return new Error(`MariaDB did not start:\n${lines.slice(-10).join('\n')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runWithServices({ HEDDLE_TEST_MARIADB: startMariadb });
