import type { ApprovalCount } from '../../core/records/approval-count.ts';
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
import { offerAllow } from './offer-allow.ts';

export const CHECK_OPTIONS: Readonly<Record<'check' | 'no-check', Option>> = {
  check: { type: 'boolean', help: 'Connect what was written, and say what works (the default on a terminal)' },
  'no-check': { type: 'boolean', help: 'Connect nothing' },
};

/**
 * Connects servers that were just written: with `--check`, or on a terminal. Prints to stderr what fails and how many
 * tools need approval. A failure does not change the exit code, and an interrupt skips the check. With `offers` it also
 * counts the known tools of servers that it does not connect. At a terminal it then offers to allow some of them. Returns
 * the counts.
 */
export async function checkAdded(
  names: readonly string[],
  input: Input,
  offers = false,
): Promise<readonly ApprovalCount[]> {
  const isPerson = Boolean(process.stdin.isTTY && process.stderr.isTTY) && !input.flag('json');
  if (names.length === 0) return [];
  if (input.flag('no-check') || !(input.flag('check') || isPerson)) return offers ? countKnown(names, input) : [];
  const signal = untilInterrupted();
  notice(`Connecting ${names.join(', ')} to check ${names.length === 1 ? 'it' : 'them'}; Ctrl-C skips that.`);
  const counts = await withHeddle({}, async (heddle) => {
    const known = new Set((await heddle.servers.list(localCaller())).map(({ name }) => name));
    const connect = () =>
      connectAll(
        heddle,
        names.filter((name) => known.has(name)),
        signal,
      );
    const found = await whileStarting(localCommandHeddle(heddle), localCaller(), connect);
    if (!signal.aborted) return report(heddle, found);
    notice('The check was skipped; `heddle doctor` does it later.');
    return [];
  });
  if (offers && isPerson && !input.flag('yes')) await offerAllow(counts);
  return counts;
}

/**
 * Counts the known tools that need approval. Starts no server. Without `--json` prints the counts, and names the servers
 * whose tools are unknown.
 */
function countKnown(names: readonly string[], input: Input): Promise<readonly ApprovalCount[]> {
  return withHeddle({ autoConnect: false }, async (heddle) => {
    await heddle.catalog.list(localCaller(), { waitMs: 0, limit: 1 }); // Reads the lists of earlier connections.
    const servers = await heddle.servers.list(localCaller());
    const unknown = servers.filter(({ name, state, tools }) => names.includes(name) && state === 'pending' && !tools);
    const all = await heddle.approvalCounts(localCaller());
    const counts = all.filter(({ servers: ones }) => ones.some((name) => names.includes(name)));
    if (input.flag('json')) return counts;
    for (const count of counts) printApprovals(count);
    if (unknown.length === 0) return counts;
    const list = unknown.map(({ name }) => name).join(', ');
    notice(`The tools of ${list} are not known yet. \`heddle doctor\` counts those that ask for approval.`);
    return counts;
  });
}

function connectAll(heddle: Heddle, names: readonly string[], signal: AbortSignal): Promise<readonly ServerStatus[]> {
  const interrupted = new Promise<readonly ServerStatus[]>((resolve) => {
    signal.addEventListener('abort', () => resolve([]), { once: true });
  });
  const connected = Promise.all(names.map((name) => heddle.servers.connect(localCaller(), name, signal)));
  return Promise.race([connected, interrupted]);
}

/** Prints the outcome for each server. Returns the counts of those that are connected. */
async function report(heddle: Heddle, found: readonly ServerStatus[]): Promise<readonly ApprovalCount[]> {
  const counts = await heddle.approvalCounts(localCaller());
  const reported = new Set<ApprovalCount>();
  for (const status of found) {
    const { name, state, code, tools = 0, reason, fix } = status;
    if (state === 'disabled' || code === 'SERVER_UNTRUSTED') continue; // A notice has said so.
    if (state !== 'connected') {
      const start = `${oneLine(`${name} ${stateOf(status)}`)}: `;
      printStatement({ start, message: reason ?? 'no reason is known.', fix }, process.stderr);
      continue;
    }
    notice(`${name} is connected and has ${tools} ${tools === 1 ? 'tool' : 'tools'}.`);
    for (const count of approvalsOf(counts, name)) {
      printApprovals(count);
      reported.add(count);
    }
  }
  return [...reported];
}
