import { realTimer } from '../../../core/time.ts';
import { DatabaseFailure } from '../database-failure.ts';
import type { Deadline } from '../deadline.ts';
import type { MysqlDriver } from './load-mysql.ts';
import type { MysqlAddress } from './mysql-address.ts';
import { MysqlSession } from './mysql-session.ts';

const MAX_SESSIONS = 5;
const KILL_MS = 2000;

/** The commands that begin a call: the settings of the session, then the transaction. */
export interface Beginning {
  readonly settings: string;
  readonly begin: string;
}

/** The connections to one server. Calls open them as they need them, at most five. */
export class MysqlSessions {
  readonly #driver: MysqlDriver;
  readonly #address: MysqlAddress;
  readonly #idle: MysqlSession[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #pending = new Set<Promise<unknown>>();
  #used = 0;
  #isClosed = false;

  constructor(driver: MysqlDriver, address: MysqlAddress) {
    this.#driver = driver;
    this.#address = address;
  }

  /** Returns a connection whose transaction has begun. Waits while all are busy. Only this may repeat after a loss. */
  async begin(beginning: Beginning, deadline: Deadline): Promise<MysqlSession> {
    await this.#enter(deadline);
    for (;;) {
      const reused = this.#idle.pop();
      let session = reused;
      try {
        if (this.#isClosed) throw new DatabaseFailure('CANCELLED', 'The connection is closing. Nothing was sent.');
        session ??= await openMysqlSession(this.#driver, this.#address, deadline);
        await deadline.race(begin(session, beginning));
        return session;
      } catch (error) {
        session?.destroy();
        // The server has closed an idle connection, or restarted.
        if (reused && !deadline.failure()) continue;
        this.#leave();
        throw deadline.failure() ?? error;
      }
    }
  }

  /** Takes a connection back after its call, and resets it. */
  release(session: MysqlSession): void {
    const stop = realTimer(KILL_MS, () => session.destroy());
    const work = clean(session)
      .then(() => (this.#isClosed ? session.destroy() : void this.#idle.push(session)))
      .catch(() => session.destroy())
      .finally(() => {
        stop();
        this.#leave();
      });
    this.#track(work);
  }

  /** Cuts a connection and ends its statement at the server. */
  abandon(session: MysqlSession): void {
    session.destroy();
    this.#track(this.#kill('CONNECTION', session.id).finally(() => this.#leave()));
  }

  /** Cuts a connection and lets the server finish its statement. */
  drop(session: MysqlSession): void {
    session.destroy();
    this.#leave();
  }

  /** Ends the statement of a connection and keeps the connection. */
  killStatement(session: MysqlSession): Promise<void> {
    return this.#kill('QUERY', session.id);
  }

  /** Ends idle connections at once, busy ones after their call. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const session of this.#idle.splice(0)) session.destroy();
    while (this.#used > 0 || this.#pending.size > 0) {
      if (this.#pending.size > 0) await Promise.all(this.#pending);
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #enter(deadline: Deadline): Promise<void> {
    while (this.#used >= MAX_SESSIONS) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      try {
        await deadline.race(promise);
      } catch (error) {
        const at = this.#waiting.indexOf(resolve);
        if (at >= 0) this.#waiting.splice(at, 1);
        else this.#waiting.shift()?.(); // This call was woken and does not need its place.
        throw error;
      }
    }
    this.#used++;
  }

  #leave(): void {
    this.#used--;
    this.#waiting.shift()?.();
  }

  /** Runs KILL over a connection of its own: the killed one is busy. */
  async #kill(what: 'CONNECTION' | 'QUERY', id: number): Promise<void> {
    const session = await MysqlSession.open(this.#driver, this.#address, AbortSignal.timeout(KILL_MS));
    const stop = realTimer(KILL_MS, () => session.destroy());
    try {
      await session.run(`KILL ${what} ${id}`);
    } finally {
      stop();
      session.destroy();
    }
  }

  #track(work: Promise<unknown>): void {
    const settled: Promise<unknown> = work.catch(() => {}).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }
}

/** Opens a connection, and gives up at the end of the call. */
export function openMysqlSession(
  driver: MysqlDriver,
  address: MysqlAddress,
  deadline: Deadline,
): Promise<MysqlSession> {
  const ended = new AbortController();
  const forget = deadline.onEnd(() => ended.abort(new Error('The call ended.')));
  return MysqlSession.open(driver, address, ended.signal).finally(forget);
}

async function begin(session: MysqlSession, beginning: Beginning): Promise<void> {
  if (session.settings !== beginning.settings) await session.run(beginning.settings);
  session.settings = beginning.settings;
  await session.run(beginning.begin);
}

/** Rolls back and resets. The settings are made again at once: most calls have the same. */
async function clean(session: MysqlSession): Promise<void> {
  const { settings } = session;
  await session.run('ROLLBACK');
  await session.reset();
  if (settings !== undefined) await session.run(settings);
  session.settings = settings;
}
