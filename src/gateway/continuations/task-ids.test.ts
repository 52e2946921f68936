import { describe, expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { aCall } from '../../core/fixtures.ts';
import { sealer } from './seal.ts';
import { type TaskRoute, taskIds } from './task-ids.ts';

const call = aCall();
const secrets = [Buffer.alloc(32, 'a')];

const reopened = (at: TaskRoute['at']) => {
  const sealed = taskIds(sealer({ secrets })).seal(at, call, 1000);
  return taskIds(sealer({ secrets })).open(sealed, call) as TaskRoute;
};

describe('a task id', () => {
  verifies('G7', 'carries the proof of the approval of its call, also to another process', () => {
    const at = {
      kind: 'task',
      server: 'demo',
      taskId: 't',
      pollMs: 0,
      approved: { id: 'ap_1', digest: 'd', nonce: 'n' },
    } as const;
    expect(reopened(at).at).toEqual(at);
  });

  verifies('G7', 'names the call of its task, by which another process finds the approval', () => {
    const at = { kind: 'gateway', ticket: 't' } as const;
    expect(reopened(at)).toMatchObject({ at, isElsewhere: true, name: call.name, callId: call.id });
  });
});
