import type { Metrics, MetricsRow } from '../../core/records/metrics.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import { MAX_SIGNATURES, type MetricsBook, type SavedMetrics } from '../../store/metrics-book.ts';
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
  /** Updates the servers. A name that now means another server has the metrics of that one. */
  meet(present: readonly Present[]): void;
  /** Returns another value as soon as another server has the name. */
  identityOf(server: string): string;
  /** Writes the remaining counts to the store. */
  close(): Promise<void>;
}

interface ServerTallies extends Pick<SavedMetrics, 'server' | 'signature'> {
  readonly whole: Tally;
  readonly tools: Map<string, Tally>;
}

const SAVE_AFTER_MS = 10_000;

export function openMetrics({ book, saved = [], present = [], timer = realTimer }: MetricsOptions): LiveMetrics {
  // By name and signature. A server that was replaced keeps its tallies for a while: it may come back.
  const servers = new Map<string, ServerTallies>();
  const written = new Map<Tally, SavedMetrics>();
  const identities = identitiesOf(present);
  let cancel: (() => void) | undefined;
  let writing = Promise.resolve();

  const currentOf = (name: string) => servers.get(identities.identityOf(name));

  function talliesOf(server: string, signature: string): ServerTallies {
    const identity = identityOf(server, signature);
    const known = servers.get(identity);
    if (known) return known;
    const added = { server, signature, whole: new Tally(saveSoon), tools: new Map<string, Tally>() };
    servers.set(identity, added);
    for (const tally of dropOldest(servers, server)) written.delete(tally);
    return added;
  }

  function tallyOf({ whole, tools }: ServerTallies, tool: string): Tally {
    const known = tool === '' ? whole : tools.get(tool);
    if (known) return known;
    const added = new Tally(saveSoon, whole);
    tools.set(tool, added);
    return added;
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
    const tally = tallyOf(talliesOf(row.server, row.signature), row.tool);
    tally.restore(row);
    written.set(tally, row);
  }

  return {
    of: (server, tool) => tallyOf(currentOf(server) ?? talliesOf(server, identities.signatureOf(server)), tool),
    tool: (server, name) => currentOf(server)?.tools.get(name) ?? UNCALLED,
    server: (name) => (currentOf(name)?.whole ?? UNCALLED).snapshot(),
    rows: () =>
      entries(servers)
        .filter(([, { server, signature }]) => signature === identities.signatureOf(server))
        .map(([tally, { server, tool }]) => ({ server, ...(tool && { tool }), ...tally.snapshot() })),
    meet: identities.meet,
    identityOf: identities.identityOf,
    close() {
      save();
      return writing;
    },
  };
}

/** Drops the oldest servers under a name that more than 20 have had. Returns their tallies. */
function dropOldest(servers: Map<string, ServerTallies>, name: string): readonly Tally[] {
  const ofName = [...servers].filter(([, { server }]) => server === name);
  return ofName.slice(0, -MAX_SIGNATURES).flatMap(([identity, { whole, tools }]) => {
    servers.delete(identity);
    return [whole, ...tools.values()];
  });
}

const identityOf = (server: string, signature: string) => `${server} ${signature}`;

interface Identities extends Pick<LiveMetrics, 'meet' | 'identityOf'> {
  signatureOf(server: string): string;
}

function identitiesOf(first: readonly Present[]): Identities {
  // Made once per server: each call looks its identity up.
  const known = new Map<string, { readonly signature: string; readonly identity: string }>();
  const meet = (present: readonly Present[]) => {
    for (const { name, signature } of present) known.set(name, { signature, identity: identityOf(name, signature) });
  };
  meet(first);
  return {
    meet,
    signatureOf: (server) => known.get(server)?.signature ?? '',
    identityOf: (server) => known.get(server)?.identity ?? identityOf(server, ''),
  };
}

const UNCALLED = new Tally(() => {});

type MetricsKey = Pick<SavedMetrics, 'server' | 'signature' | 'tool'>;

const entries = (servers: ReadonlyMap<string, ServerTallies>): readonly (readonly [Tally, MetricsKey])[] =>
  sorted(servers).flatMap(([, { server, signature, whole, tools }]) => [
    [whole, { server, signature, tool: '' }] as const,
    ...sorted(tools).map(([tool, tally]) => [tally, { server, signature, tool }] as const),
  ]);

const sorted = <T>(byName: ReadonlyMap<string, T>): readonly [string, T][] =>
  [...byName].sort(([a], [b]) => (a < b ? -1 : 1));

const since = (before: SavedMetrics | undefined, now: SavedMetrics): SavedMetrics => ({
  ...now,
  totalCalls: now.totalCalls - (before?.totalCalls ?? 0),
  toolErrors: now.toolErrors - (before?.toolErrors ?? 0),
  errorCount: now.errorCount - (before?.errorCount ?? 0),
});
