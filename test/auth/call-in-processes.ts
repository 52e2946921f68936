import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A request to a calling process. */
export interface CallsRequest {
  readonly calls?: number;
  /** The time that the clock of the process is ahead. */
  readonly offsetMs?: number;
  /** The asynchronous operation at which the process kills itself. */
  readonly killAt?: number | undefined;
  readonly close?: boolean;
}

/** The results of calls as JSON, or the codes of their errors. */
export interface CallsOutcome {
  readonly results: readonly string[];
  /** The number of asynchronous operations that started during the calls. */
  readonly operations: number;
}

export interface CallingProcess {
  /** Returns undefined if the process was killed. */
  call(request?: CallsRequest): Promise<CallsOutcome | undefined>;
  /** Closes Heddle and ends the process. */
  close(): Promise<void>;
}

const PROGRAM = join(import.meta.dirname, 'calling-process.ts');

/** Starts a Heddle process with its home in `home`, one protected server, and a store of its own unless one is given. */
export async function callingProcess(home: string, url: string, store?: string): Promise<CallingProcess> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: home, HEDDLE_HOME: home };
  const child = fork(PROGRAM, store === undefined ? [url] : [url, store], {
    env,
    cwd: home,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await messageOf(child);
  return {
    async call(request = {}) {
      const outcome = messageOf(child);
      child.send(request);
      return (await outcome) as CallsOutcome | undefined;
    },
    async close() {
      const exited = once(child, 'exit');
      child.send({ close: true } satisfies CallsRequest);
      await exited;
    },
  };
}

/** Returns the next message, or undefined if the process ends before it. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const exit = once(child, 'exit', ended).then(() => undefined);
  const message = once(child, 'message', ended).then(([received]) => received as unknown);
  exit.catch(() => {});
  message.catch(() => {});
  const first = await Promise.race([message, exit]);
  ended.abort();
  return first;
}
