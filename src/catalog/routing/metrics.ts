import type { Metrics, MetricsRow } from '../../core/records/metrics.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import type { MetricsBook, SavedMetrics } from '../../store/metrics-book.ts';
import { Tally } from './tally.ts';

export interface MetricsOptions {
  readonly book: MetricsBook;
  /** The rows of the store at the start. */
  readonly saved?: readonly SavedMetrics[];
  /** The servers at the start. */
  readonly present?: readonly Present[];
  readonly timer?: Timer;
}

/** A server name with the signature of its command or address, which identifies the server. */
interface Present {
  readonly name: string;
  readonly signature: string;
}

/** The metrics of all servers and tools: in memory, and written to the store every 10 s. */
export interface LiveMetrics {
  /** Returns the tally of a tool, or of the server if `tool` is empty. A tool's counts also go to its server. */
  of(server: string, tool: string): Tally;
  /** Returns the tally of a tool for reading, without creating one. */
  tool(server: string, name: string): Pick<Tally, keyof Metrics | 'recentRate'>;
  server(name: string): Metrics;
  /** Returns all rows by server: first the server, then its tools. */
  rows(): readonly MetricsRow[];
  /** Updates the servers. The metrics of a name that now means another server are dropped. */
  meet(present: readonly Present[]): void;
  /** Returns another value as soon as another server has the name. */
  identityOf(server: string): string;
  /** Writes the remaining counts to the store. */
  close(): Promise<void>;
}

interface ServerTallies {
  readonly whole: Tally;
  readonly tools: Map<string, Tally>;
}

const SAVE_AFTER_MS = 10_000;

export function openMetrics({ book, saved = [], present = [], timer = realTimer }: MetricsOptions): LiveMetrics {
  const servers = new Map<string, ServerTallies>();
  const written = new Map<Tally, SavedMetrics>();
  const identities = identitiesOf(present, forget);
  let cancel: (() => void) | undefined;
  let writing = Promise.resolve();

  function serverOf(name: string): ServerTallies {
    const known = servers.get(name);
    if (known) return known;
    const added = { whole: new Tally(saveSoon), tools: new Map<string, Tally>() };
    servers.set(name, added);
    return added;
  }

  function toolOf(server: string, tool: string): Tally {
    const { whole, tools } = serverOf(server);
    const known = tool === '' ? whole : tools.get(tool);
    if (known) return known;
    const added = new Tally(saveSoon, whole);
    tools.set(tool, added);
    return added;
  }

  function forget(server: string): void {
    if (!servers.delete(server)) return;
    writing = writing.then(() => book.forget(server)).catch(() => {}); // The row then only stays too long.
  }

  function saveSoon(): void {
    cancel ??= timer(SAVE_AFTER_MS, save);
  }

  function save(): void {
    cancel?.();
    cancel = undefined;
    writing = writing.then(write).catch(() => {}); // The next save writes the same counts.
  }

  /** Adds the counts since the last save; other processes may use the same store. */
  async function write(): Promise<void> {
    const now = entries(servers).map(([tally, key]) => [tally, { ...key, ...tally.snapshot() }] as const);
    const changed = now.filter(([tally, { totalCalls }]) => totalCalls !== (written.get(tally)?.totalCalls ?? 0));
    if (changed.length === 0) return;
    await book.add(changed.map(([tally, counted]) => since(written.get(tally), counted)));
    for (const [tally, counted] of changed) written.set(tally, counted);
  }

  for (const row of saved) {
    const tally = toolOf(row.server, row.tool);
    tally.restore(row);
    written.set(tally, row);
  }

  return {
    of: toolOf,
    tool: (server, name) => servers.get(server)?.tools.get(name) ?? UNCALLED,
    server: (name) => (servers.get(name)?.whole ?? UNCALLED).snapshot(),
    rows: () =>
      entries(servers).map(([tally, { server, tool }]) => ({ server, ...(tool && { tool }), ...tally.snapshot() })),
    ...identities,
    close() {
      save();
      return writing;
    },
  };
}

function identitiesOf(
  first: readonly Present[],
  onOther: (server: string) => void,
): Pick<LiveMetrics, 'meet' | 'identityOf'> {
  const signatures = new Map(first.map(({ name, signature }) => [name, signature]));
  return {
    meet(present) {
      for (const { name, signature } of present) {
        const before = signatures.get(name);
        signatures.set(name, signature);
        if (before !== undefined && before !== signature) onOther(name);
      }
    },
    identityOf: (server) => `${server} ${signatures.get(server) ?? ''}`,
  };
}

const UNCALLED = new Tally(() => {});

type MetricsKey = Pick<SavedMetrics, 'server' | 'tool'>;

const entries = (servers: ReadonlyMap<string, ServerTallies>): readonly (readonly [Tally, MetricsKey])[] =>
  sorted(servers).flatMap(([server, { whole, tools }]) => [
    [whole, { server, tool: '' }] as const,
    ...sorted(tools).map(([tool, tally]) => [tally, { server, tool }] as const),
  ]);

const sorted = <T>(byName: ReadonlyMap<string, T>): readonly [string, T][] =>
  [...byName].sort(([a], [b]) => (a < b ? -1 : 1));

const since = (before: SavedMetrics | undefined, now: SavedMetrics): SavedMetrics => ({
  ...now,
  totalCalls: now.totalCalls - (before?.totalCalls ?? 0),
  toolErrors: now.toolErrors - (before?.toolErrors ?? 0),
  errorCount: now.errorCount - (before?.errorCount ?? 0),
});
