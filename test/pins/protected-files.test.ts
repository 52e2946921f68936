import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { PROTECTED, protectedPathsFrom, protectionOf } from '../../src/builtin/filesystem/places/protected-paths.ts';
import { hostFiles } from '../../src/config/hosts/hosts.ts';
import { standardSources } from '../../src/config/sources/sources.ts';
import { verifies } from '../requirements.ts';

const homes = { cwd: '/p/work', home: '/u/.heddle', userHome: '/u' };

/** Lists the files that Heddle or a host reads servers from, on each platform. */
async function configurationFiles(): Promise<readonly string[]> {
  const sources = await standardSources(homes, '/p/work');
  const hosts = (['linux', 'darwin', 'win32'] as const).flatMap((platform) =>
    hostFiles({ platform, env: {}, userHome: '/u', projectFolder: '/p/work' }),
  );
  // `server.json` describes a server for the registry. It starts nothing until the user imports it.
  return [...sources, ...hosts.filter(({ host }) => host !== 'registry')].map(({ file }) => file);
}

verifies('B1', 'the file tools write no file that configuration or a host is read from', async () => {
  expect((await configurationFiles()).filter((file) => protectionOf(file) === undefined)).toEqual([]);
});

verifies(
  'B1',
  'the file tools know each of these files by its own path, so that a link in its place is followed',
  async () => {
    const files = (await configurationFiles()).map((file) => file.replaceAll('\\', '/').toLowerCase());
    const isListed = (file: string) =>
      file.split('/').some((name) => protectedPathsFrom(name).some((path) => file.endsWith(`/${path}`)));
    expect(files.filter((file) => !isListed(file))).toEqual([]);
  },
);

verifies('B1', 'the guide lists the paths that the file tools never write, with the reasons', () => {
  const guide = readFileSync(new URL('../../docs/guides/filesystem.md', import.meta.url), 'utf8');
  const rows = PROTECTED.map(
    ({ paths, reason }) => `| ${paths.map((path) => `\`${path}\``).join(', ')} | ${reason} |\n`,
  );
  expect(guide).toContain(`| never written | because it |\n|---|---|\n${rows.join('')}`);
});
