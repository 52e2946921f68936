import type { ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import type { Heddle } from '../../heddle.ts';
import type { Input, Option } from '../command.ts';
import { localCommandHeddle } from '../command-heddle.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { whileStarting } from '../print/missing-servers.ts';
import { approvalsOf, printApprovals } from '../print/print-approvals.ts';
import { notice, printStatement } from '../print/print-line.ts';
import { stateOf } from '../print/state-label.ts';
import { withHeddle } from '../with-heddle.ts';

export const CHECK_OPTIONS: Readonly<Record<'check' | 'no-check', Option>> = {
  check: { type: 'boolean', help: 'Connect what was written, and say what works (the default on a terminal)' },
  'no-check': { type: 'boolean', help: 'Connect nothing' },
};

/**
 * Connects servers that were just written: with `--check`, or on a terminal. Prints to stderr what fails and how many
 * tools need approval. A failure does not change the exit code, and an interrupt skips the check.
 */
export async function checkAdded(names: readonly string[], input: Input): Promise<void> {
  const isPerson = process.stdin.isTTY && process.stderr.isTTY && !input.flag('json');
  if (names.length === 0 || input.flag('no-check') || !(input.flag('check') || isPerson)) return;
  const signal = untilInterrupted();
  notice(`Connecting ${names.join(', ')} to check ${names.length === 1 ? 'it' : 'them'}; Ctrl-C skips that.`);
  await withHeddle({}, async (heddle) => {
    const known = new Set((await heddle.servers.list(localCaller())).map(({ name }) => name));
    const connect = () =>
      connectAll(
        heddle,
        names.filter((name) => known.has(name)),
        signal,
      );
    const found = await whileStarting(localCommandHeddle(heddle), localCaller(), connect);
    if (signal.aborted) notice('The check was skipped; `heddle doctor` does it later.');
    else await report(heddle, found);
  });
}

function connectAll(heddle: Heddle, names: readonly string[], signal: AbortSignal): Promise<readonly ServerStatus[]> {
  const interrupted = new Promise<readonly ServerStatus[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  const connected = Promise.all(names.map((name) => heddle.servers.connect(localCaller(), name, signal)));
  return Promise.race([connected, interrupted]);
}

async function report(heddle: Heddle, found: readonly ServerStatus[]): Promise<void> {
  const counts = await heddle.approvalCounts(localCaller());
  for (const status of found) {
    const { name, state, code, tools = 0, reason, fix } = status;
    if (state === 'disabled' || code === 'SERVER_UNTRUSTED') continue; // A notice has said so.
    if (state !== 'connected') {
      const start = `${oneLine(`${name} ${stateOf(status)}`)}: `;
      printStatement({ start, message: reason ?? 'no reason is known.', fix }, process.stderr);
      continue;
    }
    notice(`${name} is connected and has ${tools} ${tools === 1 ? 'tool' : 'tools'}.`);
    for (const count of approvalsOf(counts, name)) printApprovals(count);
  }
}
