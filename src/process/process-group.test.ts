import { alive } from '../../test/alive.ts';
import { within } from '../../test/limits.ts';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import { startGroup } from './process-group.ts';

verifies('T4', 'ends its wait for a process whose exit event never arrives', async () => {
  const env = { PATH: process.env.PATH ?? '' };
  const group = startGroup({ command: '/bin/sleep', args: ['60'], env, mark: `unheard-${process.pid}` });
  // As when the kernel cannot let go of it: whatever becomes of the process, its exit is never told.
  const emit = group.child.emit.bind(group.child);
  group.child.emit = (event: string, ...rest: unknown[]) =>
    event !== 'exit' && emit(event as 'exit', ...(rest as [0, null]));
  await within(2000, () => group.end());
  await until('the kernel has removed it', () => !alive(group.child.pid ?? 0));
});
