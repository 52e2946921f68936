import type { OpenedRuns, OpenRunsOptions, RunStores } from './open-runs.ts';

export interface LazyRunsOptions extends OpenRunsOptions {
  /** Turns errors of the database into ours. */
  readonly guard: <T>(reading: Promise<T>) => Promise<T>;
}

export interface LazyRuns extends RunStores {
  /** Ends all watchers, if the parts were used. */
  close(): Promise<void>;
}

/** The parts for runs, loaded on first use: most commands need none. */
export function lazyRuns({ guard, ...options }: LazyRunsOptions): LazyRuns {
  let opening: Promise<OpenedRuns> | undefined;
  let opened: OpenedRuns | undefined;
  const open = () => {
    opening ??= import('./open-runs.ts').then(({ openRuns }) => {
      opened = openRuns(options);
      return opened;
    });
    return opening;
  };
  const use = <T>(work: (parts: RunStores) => Promise<T>): Promise<T> => guard(open().then(work));
  return {
    runs: {
      create: (run, values, entries) => use(({ runs }) => runs.create(run, values, entries)),
      get: (id) => use(({ runs }) => runs.get(id)),
      find: (prefix) => use(({ runs }) => runs.find(prefix)),
      ofCall: (caller, callId) => use(({ runs }) => runs.ofCall(caller, callId)),
      leave: (run, call) => use(({ runs }) => runs.leave(run, call)),
      moveTo: (run, origin) => use(({ runs }) => runs.moveTo(run, origin)),
      leftBy: (caller, call) => use(({ runs }) => runs.leftBy(caller, call)),
      list: (filter) => use(({ runs }) => runs.list(filter)),
      entries: (run, after, kinds) => use(({ runs }) => runs.entries(run, after, kinds)),
      value: (sha256) => use(({ runs }) => runs.value(sha256)),
      unleased: (now, limit) => use(({ runs }) => runs.unleased(now, limit)),
      // Queued at once if possible: a step's start must not come after the intent of its call.
      append: (write, urgency) =>
        opened ? opened.runs.append(write, urgency) : use(({ runs }) => runs.append(write, urgency)),
      ready: () => (opened ? opened.runs.ready() : use(({ runs }) => runs.ready())),
      signal: (run, signal) => use(({ runs }) => runs.signal(run, signal)),
      signals: (run, after) => use(({ runs }) => runs.signals(run, after)),
      watch: (onChange) => {
        const ended = new AbortController();
        void open().then(({ runs }) => {
          if (!ended.signal.aborted) ended.signal.addEventListener('abort', runs.watch(onChange), { once: true });
        });
        return () => ended.abort();
      },
      prune: (before) => use(({ runs }) => runs.prune(before)),
    },
    runQueue: {
      claim: (options) => use(({ runQueue }) => runQueue.claim(options)),
      heartbeat: (claimed) => use(({ runQueue }) => runQueue.heartbeat(claimed)),
      release: (claimed, wakeAt) => use(({ runQueue }) => runQueue.release(claimed, wakeAt)),
      unowned: (options) => use(({ runQueue }) => runQueue.unowned(options)),
      nextDue: (origin) => use(({ runQueue }) => runQueue.nextDue(origin)),
    },
    close: async () => (await opening)?.close(),
  };
}
