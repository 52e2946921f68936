import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { entering, type PidNamespace, probePidNamespace } from '../../src/process/pid-namespace.ts';
import { startGroup } from '../../src/process/process-group.ts';
import { openWatchdog } from '../../src/process/watchdog.ts';
import { runningWith } from '../alive.ts';
import { verifies } from '../requirements.ts';
import { until } from '../until.ts';

const DEAF = `trap '' INT TERM HUP; echo ready; while :; do sleep 1; done`;
/** Ways to start a child. Each child ignores signals and has the tag among its arguments. */
const KINDS = {
  'a grandchild': 'sh -c "$deaf" $tag &',
  'a child in its own session': 'setsid sh -c "$deaf" $tag &',
  'a daemon that forked twice': '(setsid sh -c \'sh -c "$0" $1 & exit 0\' "$deaf" $tag &)',
  'a child in its own session with an empty environment': 'setsid env -i sh -c "$deaf" $tag &',
};
const ESCAPES = 'a child in its own session with an empty environment';

/** A server that ignores signals, as its child does. */
const SERVER = '/bin/sh\0-c\0: server; ';
const serverWith = (kind: string) => `: server; deaf="$1" tag="$2"; ${kind}
  trap '' INT TERM HUP; while :; do sleep 1; done`;

/** A Heddle in its own process, which the test kills. */
const HOLDER = `
  import { startGroup } from '${new URL('../../src/process/process-group.ts', import.meta.url)}';
  import { openWatchdog } from '${new URL('../../src/process/watchdog.ts', import.meta.url)}';
  const [script, deaf, tag, enter] = JSON.parse(process.env.PROGRAM);
  const watchdog = openWatchdog();
  const program = { command: '/bin/sh', args: ['-c', script, 'server', deaf, tag], env: { PATH: process.env.PATH } };
  const { child } = startGroup({ ...program, mark: watchdog.mark(), enter });
  watchdog.watch(child.pid);
  child.stdout.pipe(process.stdout);
`;

const here = await probePidNamespace();
const ways: [string, PidNamespace][] = [['group and mark', { reason: 'not wanted' }]];
if ('enter' in here) ways.push(['a pid namespace', here]);

function newTag(): string {
  const tag = `survivor-${randomUUID()}`;
  onTestFinished(() => {
    for (const pid of runningWith(tag)) process.kill(pid, 'SIGKILL');
  });
  return tag;
}

function begin(kind: string, tag: string, namespace: PidNamespace) {
  const watchdog = openWatchdog();
  onTestFinished(() => watchdog.close());
  const args = ['-c', serverWith(kind), 'server', DEAF, tag];
  const env = { PATH: process.env.PATH ?? '' };
  const enter = entering(namespace, env);
  return startGroup({ command: '/bin/sh', args, env, mark: watchdog.mark(), enter });
}

for (const [how, namespace] of ways) {
  for (const [name, kind] of Object.entries(KINDS)) {
    // Without a namespace, a process that changed both its session and its environment cannot be found.
    const left = name === ESCAPES && !('enter' in namespace) ? 1 : 0;

    verifies('T4', `with ${how}, ${left} of ${name} survive the end of their server`, async () => {
      const tag = newTag();
      const group = begin(kind, tag, namespace);
      await once(group.child.stdout, 'data');
      await group.end();
      await until('the others are gone', () => runningWith(tag).length === left);
    });

    verifies('T4', `with ${how}, ${left} of ${name} survive a killed server`, async () => {
      const tag = newTag();
      const group = begin(kind, tag, namespace);
      await once(group.child.stdout, 'data');
      const server = runningWith(tag).find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(SERVER));
      process.kill(server as number, 'SIGKILL');
      await group.exited;
      expect(group.ending()).toEqual({ signal: 'SIGKILL' });
      await until('the others are gone', () => runningWith(tag).length === left);
    });

    verifies('T4', `with ${how}, ${left} of ${name} survive a Heddle killed with SIGKILL`, async () => {
      const tag = newTag();
      const program = JSON.stringify([serverWith(kind), DEAF, tag, entering(namespace, {})]);
      const holder = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', HOLDER], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { PATH: process.env.PATH, PROGRAM: program },
      });
      await once(holder.stdout, 'data');
      holder.kill('SIGKILL');
      await until('the others are gone', () => runningWith(tag).length === left);
    });
  }
}
