import { expect, it } from 'vitest';
import { deskWith } from '../../../src/cli/commands/fixtures.ts';
import { openSecretStore } from '../../../src/open-heddle.ts';
import { verifies } from '../../requirements.ts';

const OWN = 'home/heddle.json';
const DESK = 'user/.cursor/mcp.json';
const CURSOR = { mcpServers: { github: { command: 'npx', env: { GITHUB_TOKEN: 'ghp_abcdefgh12345' } } } };

verifies('C9', 'keeps a stored secret of the same name and another value, unless --force replaces it', async () => {
  const desk = await deskWith();
  const [first, second, third] = ['ghp_0123456789first', 'ghp_0123456789second', 'ghp_0123456789third'];
  const add = (token: string | undefined, ...more: string[]) =>
    desk.heddle(['add', 'a', '--env', `TOKEN=${token}`, ...more, '--json', '--', 'x']);
  const stored = async (name: string) => (await openSecretStore({ HEDDLE_HOME: desk.path('home') })).get(name);
  expect(JSON.parse((await add(first, '--scope', 'user')).stdout).secrets).toEqual(['a.TOKEN']);
  expect(JSON.parse((await add(second, '--scope', 'project')).stdout).secrets).toEqual(['a.TOKEN-2']);
  expect(await desk.read('project/heddle.json')).toContain('${secret:a.TOKEN-2}');
  expect([await stored('a.TOKEN'), await stored('a.TOKEN-2')]).toEqual([first, second]);
  // The same value needs no second name.
  expect(JSON.parse((await add(first, '--scope', 'local')).stdout).secrets).toEqual(['a.TOKEN']);
  const forced = await add(third, '--scope', 'user', '--force');
  expect(forced.stderr).toContain('The secret a.TOKEN is in the secret store, in place of its earlier value.');
  expect([await stored('a.TOKEN'), await stored('a.TOKEN-2')]).toEqual([third, second]);
  // The replaced entry has the second name, and only its secret is replaced.
  await add(first, '--scope', 'project', '--force');
  expect([await stored('a.TOKEN'), await stored('a.TOKEN-2')]).toEqual([third, first]);
});

it('warns of a secret beside a reference or as its default, which stays in the file', async () => {
  const desk = await deskWith();
  const key = 'ghp_0123456789abcdefghij';
  const variables = [
    `MIX=\${USER}-${key}`,
    `FALLBACK_TOKEN=\${TOKEN:-${key}}`,
    'BIN=${HOME}/bin',
    'PAIR_KEY=${A}:${B}',
  ];
  const given = variables.flatMap((one) => ['--env', one]);
  const ran = await desk.heddle(['add', 'a', ...given, '--', 'x']);
  expect(ran.code).toBe(0);
  const warned = [...ran.stderr.matchAll(/warning: (\S+) of a looks like a secret/g)].map(([, one]) => one);
  expect(warned).toEqual(['env.MIX', 'env.FALLBACK_TOKEN']);
  expect(ran.stdout + ran.stderr).not.toContain(key);
});

verifies('C9', 'import replaces no secret that the user has set, and finds the imported server the same', async () => {
  const { heddle, path, read } = await deskWith({ [DESK]: CURSOR });
  const store = await openSecretStore({ HEDDLE_HOME: path('home') });
  await store.set('github.GITHUB_TOKEN', 'set by hand');
  const { changes } = JSON.parse((await heddle(['import', 'cursor', '--write', '--json'])).stdout);
  expect(changes).toMatchObject([{ secrets: ['github.GITHUB_TOKEN-2'] }]);
  expect(await store.get('github.GITHUB_TOKEN')).toBe('set by hand');
  expect(await read(OWN)).toContain('${secret:github.GITHUB_TOKEN-2}');
  expect((await heddle(['import', 'cursor', '--write'])).stdout).toContain('Nothing had to be imported.');
});

verifies('C9', 'import moves a secret after text that another host does not expand', async () => {
  const key = 'ghp_0123456789abcdefghij';
  const mixed = { command: 'x', env: { MIX: `\${USER}-${key}` } };
  const { heddle, read } = await deskWith({ [DESK]: { mcpServers: { mixed } } });
  expect((await heddle(['import', 'cursor', '--write'])).stderr).toContain(
    'The secret mixed.MIX is in the secret store.',
  );
  expect(await read(OWN)).not.toContain(key);
});

verifies('L1', 'remove names the secrets that stay in the store, and the command that removes them', async () => {
  const { heddle } = await deskWith();
  await heddle(['add', 'a', '--env', 'TOKEN=ghp_0123456789abc', '--', 'x']);
  await heddle(['add', 'b', '--env', 'TOKEN=${secret:a.TOKEN}', '--env', 'KEY=other', '--', 'x']);
  expect((await heddle(['remove', 'a'])).stderr).toBe('');
  const ran = await heddle(['remove', 'b']);
  expect(ran.stderr).toContain('The secret a.TOKEN stays in the store: another project may use it.');
  expect(ran.stderr).toContain('`heddle secret rm a.TOKEN`');
  expect(ran.stderr).toContain('`heddle secret rm b.KEY`');
});
