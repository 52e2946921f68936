import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it("does not load Node's HTTP client with the gateway", async () => {
  const gateway = new URL('./open-gateway.ts', import.meta.url).href;
  const loaded = "process.moduleLoadList.filter((name) => name.includes('undici')).join()";
  const program = `await import('${gateway}'); process.stdout.write(${loaded});`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toBe('');
});
