import { link } from 'node:fs/promises';
import { onTestFinished, vi } from 'vitest';

/** Makes hard links fail until the test ends. Needs `vi.mock('node:fs/promises', { spy: true })`. */
export function refuseLinks(code: string): void {
  vi.mocked(link).mockRejectedValue(Object.assign(new Error(code), { code }));
  onTestFinished(() => void vi.mocked(link).mockRestore());
}
