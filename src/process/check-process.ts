import type { Finding } from '../core/records/finding.ts';
import type { PidNamespace } from './pid-namespace.ts';

/** Reports how the processes of a local server are ended with it on this machine. */
export function examineEnclosure(namespace: PidNamespace): Finding {
  const subject = 'processes';
  if ('enter' in namespace) {
    const userNamespace = namespace.enter.includes('--user');
    const price = userNamespace ? USER_PRICE : '';
    const message = `each local server has a pid namespace of its own, so nothing it starts outlives it${price}`;
    return { level: 'ok', subject, message, facts: { enclosure: 'pid-namespace', userNamespace } };
  }
  const { reason, fix } = namespace;
  const message = `ended by process group and mark, but by no pid namespace, because ${reason}; ${ESCAPE}`;
  // No warning without a fix.
  return { level: fix ? 'warn' : 'ok', subject, message, ...(fix && { fix }), facts: { enclosure: 'group', reason } };
}

const ESCAPE = 'only a program that leaves its session and clears its variables could outlive its server';
const USER_PRICE =
  '; sudo does not work in it, nor ssh where its settings lie in ssh_config.d (HEDDLE_PID_NAMESPACE=off does without)';

/** Reports the Node version and platform. */
export const examineNode = (): Finding => ({
  level: 'ok',
  subject: 'node',
  message: `${process.version} on ${process.platform} ${process.arch}`,
});
