import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { temporaryFolder } from '../../../test/temporary-heddle.ts';
import type { Config } from '../../config/config.ts';
import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import { openWatchdog } from '../../process/watchdog.ts';
import { builtInFilesystem } from './filesystem.ts';

/** Tests whether the file tools are served for a project folder. */
function isServed(projectFolder: string, userHome: string, allowedPaths = [projectFolder]): boolean {
  const filesystem = { ...SETTING_DEFAULTS.builtins.filesystem, allowedPaths };
  const config = { projectFolder, settings: { builtins: { filesystem } } } as unknown as Config;
  const home = join(userHome, '.heddle');
  const parts = { config: () => config, home, storeLocation: ':memory:', env: {}, watchdog: openWatchdog() };
  return builtInFilesystem({ ...parts, userHome }).configOf(config)?.entry?.enabled === true;
}

verifies('B1', 'serves no project folder that is or contains the home folder of the user, by any path', async () => {
  const folder = await temporaryFolder();
  const userHome = join(folder, 'home/ada');
  mkdirSync(join(userHome, 'project'), { recursive: true });
  symlinkSync(userHome, join(folder, 'link'));
  symlinkSync(join(folder, 'home'), join(folder, 'all'));
  for (const project of [userHome, dirname(userHome), join(folder, 'link'), join(folder, 'all'), '/']) {
    for (const home of [userHome, `${userHome}/`, join(folder, 'link')]) {
      expect.soft(isServed(project, home), `${project} with the home folder ${home}`).toBe(false);
    }
  }
  expect(isServed(join(userHome, 'project'), userHome)).toBe(true);
  expect(isServed(join(folder, 'home/ada..'), userHome)).toBe(true);
  expect(isServed(userHome, userHome, [join(userHome, 'project')])).toBe(true);
});
