import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { temporaryFolder } from '../../test/temporary-heddle.ts';
import { type OpenOptions, openHeddle } from '../index.ts';

/** Two users: the process runs as `ann`, and the program may pass the environment of `bob`. */
async function twoUsers() {
  const folder = await temporaryFolder();
  const write = async (path: string, content: object) => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), JSON.stringify(content));
  };
  const entry = (name: string) => ({ mcpServers: { [name]: { command: 'true', args: ['${userHome}'] } } });
  for (const user of ['ann', 'bob']) {
    await write(`${user}/.claude.json`, entry(`claude-of-${user}`));
    await write(`${user}/.heddle/heddle.json`, entry(`own-of-${user}`));
  }
  await mkdir(join(folder, 'project'));
  vi.stubEnv('HOME', join(folder, 'ann'));
  vi.stubEnv('HEDDLE_HOME', undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  return {
    path: (name: string) => join(folder, name),
    async open(options: OpenOptions) {
      const heddle = await openHeddle({ cwd: join(folder, 'project'), ...options });
      onTestFinished(() => heddle.close());
      const names = (await heddle.servers.list()).map(({ name }) => name);
      return { heddle, own: names.filter((name) => name !== 'filesystem').toSorted() };
    },
  };
}

verifies('X1', 'reads the files of the HOME in `env`, and no other, and has its store there', async () => {
  const { path, open } = await twoUsers();
  const { own } = await open({ env: { HOME: path('bob') } });
  expect(own).toEqual(['claude-of-bob', 'own-of-bob']);
  expect([existsSync(path('bob/.heddle/heddle.sqlite')), existsSync(path('ann/.heddle/heddle.sqlite'))]).toEqual([
    true,
    false,
  ]);
});

verifies('X1', 'without `env` reads the files of the user of the process', async () => {
  const { open } = await twoUsers();
  expect((await open({ store: ':memory:' })).own).toEqual(['claude-of-ann', 'own-of-ann']);
});

verifies('X1', 'reads no file of a user if `env` has HEDDLE_HOME alone, and `${userHome}` is not set', async () => {
  const { path, open } = await twoUsers();
  const { heddle, own } = await open({ env: { HEDDLE_HOME: path('bob/.heddle') } });
  expect(own).toEqual(['own-of-bob']);
  await expect(heddle.call('own-of-bob.x')).rejects.toMatchObject({
    code: 'VARIABLE_UNSET',
    message: expect.stringContaining('The variable `HOME` is not set'),
  });
});

verifies('X1', 'fails to open if `env` has neither HOME nor HEDDLE_HOME', async () => {
  const { path, open } = await twoUsers();
  await expect(open({ env: { PATH: '/bin' } })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
    message: 'The environment has neither HOME nor HEDDLE_HOME, so Heddle has no folder.',
  });
  expect(existsSync(path('ann/.heddle/heddle.sqlite'))).toBe(false);
});

verifies('X1', 'has no file tools in the home folder of the process, whatever HOME `env` has', async () => {
  const { path, open } = await twoUsers();
  for (const cwd of ['ann', 'bob']) {
    const { heddle } = await open({ cwd: path(cwd), env: { HOME: path('bob') }, store: ':memory:' });
    expect((await heddle.servers.get('filesystem')).state).toBe('disabled');
  }
});
