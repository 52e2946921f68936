import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import { until } from '../../test/until.ts';
import { openUrl } from './open-url.ts';

const URL_WITH_SHELL_SIGNS = "https://as.example/authorize?a=1&b=$(id);`id`'%20x#y";

/** Makes a browser that writes its arguments to a file, one per line. */
async function recordingBrowser() {
  const folder = await temporaryFolder();
  const [program, output] = [join(folder, 'browser'), join(folder, 'opened')];
  await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$@" > '${output}.part'\nmv '${output}.part' '${output}'\n`);
  await chmod(program, 0o755);
  const opened = () => readFile(output, 'utf8').catch(() => '');
  return { program, folder, opened };
}

describe('the browser', () => {
  verifies('A2', 'gets the URL as its one argument, which no shell reads', async () => {
    const { program, opened } = await recordingBrowser();
    expect(await openUrl(URL_WITH_SHELL_SIGNS, { env: { BROWSER: program } })).toBe(true);
    await until('the browser has started', async () => (await opened()) !== '');
    expect(await opened()).toBe(`${new URL(URL_WITH_SHELL_SIGNS).href}\n`);
  });

  it.each(['file:///etc/passwd', 'javascript:alert(1)', 'ssh://host', '-x', ''])(
    'A2: is not opened for %j',
    async (url) => {
      const { program, opened } = await recordingBrowser();
      expect(await openUrl(url, { env: { BROWSER: program } })).toBe(false);
      expect(await opened()).toBe('');
    },
  );

  verifies('A2', 'is not started without a display, nor if its program is missing', async () => {
    expect(await openUrl('https://x.example', { env: { PATH: '/usr/bin' }, platform: 'linux' })).toBe(false);
    expect(await openUrl('https://x.example', { env: { BROWSER: '/nowhere/browser' } })).toBe(false);
    expect(await openUrl('https://x.example', { env: { DISPLAY: ':0', PATH: '/nowhere' }, platform: 'linux' })).toBe(
      false,
    );
  });
});
