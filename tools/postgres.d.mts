/** A PostgreSQL server for tests. */
export interface TestPostgres {
  readonly url: string;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export function startPostgres(): Promise<TestPostgres>;
