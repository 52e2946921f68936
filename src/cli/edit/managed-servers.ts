import type { Config, SourceLocation } from '../../config/config.ts';
import { HeddleError } from '../../core/errors.ts';
import { notice } from '../print/print-line.ts';

const FIX = 'Ask the administrator of this machine.';

/** Throws SERVER_BLOCKED if the organisation's file is the only source of servers: an entry elsewhere has no effect. */
export function requireOwnServers({ exclusive }: Config, names: readonly string[], act: 'added' | 'enabled'): void {
  if (exclusive === undefined || names.length === 0) return;
  const [verb, it] = names.length === 1 ? ['was', 'it'] : ['were', 'they'];
  const message = `${names.join(', ')} ${verb} not ${act}, because ${it} would have no effect: ${onlySource(exclusive)}`;
  throw new HeddleError('SERVER_BLOCKED', message, { fix: FIX });
}

/** Prints a notice that a changed entry has no effect anyway. */
export function noticeWithoutForce({ exclusive }: Config, name: string): void {
  if (exclusive) notice(`${name} had no effect: ${onlySource(exclusive)}`);
}

/** Returns the end of a preview of imports: how to write them, or why Heddle would refuse that. */
export const takeOverHint = ({ exclusive }: Config): string =>
  exclusive === undefined ? 'To take over: --write' : `They cannot be taken over: ${onlySource(exclusive)}`;

const onlySource = ({ file }: SourceLocation) => `${file} is the only source of servers on this machine.`;

/** Prints a notice for each of these servers that the organisation's lists block. */
export function noticeBlocked({ servers }: Config, names: readonly string[]): void {
  for (const name of names) {
    const problem = servers.get(name)?.problem;
    if (problem?.code === 'SERVER_BLOCKED') notice(`${problem.message} ${FIX}`);
  }
}
