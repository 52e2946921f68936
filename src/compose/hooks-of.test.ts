import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { configSchema } from '../config/schema/schema.ts';
import type { StoredApproval } from '../store/approval-box.ts';
import { approvalObserver } from './hooks-of.ts';

verifies('G13', 'ends the hooks onApproval that run or wait soon after close, whatever they do', async () => {
  const seen: string[] = [];
  const hanging = ({ approval }: { readonly approval: { readonly id: string } }) => {
    seen.push(approval.id);
    return new Promise<void>(() => undefined);
  };
  const parts = {
    active: () => ({ config: { settings: configSchema.parse({}) } }),
    store: { audit: { append: () => undefined } },
    env: { HEDDLE_HOME: '/nonexistent' },
    wallClock: () => 0,
    options: { hooks: { onApproval: hanging } },
  } as unknown as Parameters<typeof approvalObserver>[0];
  const unused = () => Promise.reject(new Error('No approval is expected.'));
  const observer = approvalObserver(parts, unused, { closeMs: 0 });
  const subject = { kind: 'tool', name: 'mcp__a__b', servers: ['a'], arguments: {} };
  for (let n = 0; n < 20; n++) observer.observe({ id: `ap_${n}`, subject } as unknown as StoredApproval);
  await observer.close();
  expect(seen.length).toBeLessThan(2);
});
