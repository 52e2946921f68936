import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { HeddleError } from '../../core/errors.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { following, sentence } from '../print/escape-control.ts';

/** Returns true if stdin and stderr are a terminal. */
export const canAsk = (): boolean => Boolean(process.stdin.isTTY && process.stderr.isTTY);

const shown = (question: string): string => sentence('', oneLine(question), process.stderr);

/** Formats a prompt that may be a server's text, so its wrapped lines get the mark. */
const quoted = (question: string): string => following('', oneLine(question), process.stderr);

/** Asks for yes or no. Enter means yes. */
export async function askYes(question: string): Promise<boolean> {
  const answer = await ask(`${shown(question)} [Y/n] `);
  return !/^n(o)?$/i.test(answer.trim());
}

/** Asks for yes or no. Enter means no. When the signal aborts, it throws and releases the terminal. */
export const askNo = async (question: string, signal?: AbortSignal): Promise<boolean> =>
  (await askKey(question, ['y'], signal)) === 'y';

/** Asks for one of some keys, again after an answer that is none. Enter, `n` and `no` mean no, which is undefined. */
export async function askKey(
  question: string,
  keys: readonly string[],
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (;;) {
    const answer = (await ask(`${shown(question)} [${keys.join('/')}/N] `, signal)).trim().toLowerCase();
    const key = keys.find((one) => one === answer || (one === 'y' && answer === 'yes'));
    if (key !== undefined || ['', 'n', 'no'].includes(answer)) return key;
  }
}

/** Several prompts in a row. Lines typed ahead are kept for the next prompt. */
export interface Conversation {
  ask(question: string): Promise<string>;
  close(): void;
}

export function openConversation(): Conversation {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
  const typed: string[] = [];
  let waiting: PromiseWithResolvers<string> | undefined;
  let left = false;
  const leave = () => {
    left = true;
    waiting?.reject(leftOff());
  };
  lines.on('line', (line) => {
    if (waiting) waiting.resolve(line);
    else typed.push(line);
  });
  lines.once('SIGINT', leave);
  lines.once('close', leave); // Ctrl-D ends the input.
  return {
    async ask(question) {
      if (left) throw leftOff();
      lines.setPrompt(`${quoted(question)} `);
      lines.prompt();
      const early = typed.shift();
      if (early !== undefined) return early;
      waiting = Promise.withResolvers();
      try {
        return await waiting.promise;
      } finally {
        waiting = undefined;
      }
    },
    close: () => lines.close(),
  };
}

/** Asks for a value without echoing it. The prompt appears once the terminal's own echo is off. */
export async function askHidden(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    return await askOn(nowhere, (lines, signal) => {
      process.stderr.write(`${shown(question)} `);
      return lines.question('', { signal });
    });
  } finally {
    process.stderr.write('\n');
  }
}

const ask = (question: string, until?: AbortSignal): Promise<string> =>
  askOn(process.stderr, (lines, signal) => {
    const either = until ? AbortSignal.any([signal, until]) : signal;
    return lines.question(question, { signal: either });
  });

async function askOn(
  output: NodeJS.WritableStream,
  question: (lines: Interface, signal: AbortSignal) => Promise<string>,
): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const stopped = new AbortController();
  lines.once('SIGINT', () => stopped.abort());
  lines.once('close', () => stopped.abort()); // Ctrl-D ends the input.
  try {
    return await question(lines, stopped.signal);
  } catch (cause) {
    throw unanswered(cause);
  } finally {
    lines.close();
  }
}

const unanswered = (cause?: unknown) =>
  new HeddleError('CALL_CANCELLED', 'Nothing was answered, so nothing was changed.', {
    cause,
    fix: 'Run it again, and answer.',
  });
const leftOff = () => new HeddleError('CALL_CANCELLED', 'Nothing was answered, so the call was cancelled.');
