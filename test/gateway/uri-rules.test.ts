import { describe, expect } from 'vitest';
import { gatewayUnderTest, openSession } from '../../src/gateway/fixtures.ts';
import { verifies } from '../requirements.ts';
import { builtins, postTo } from '../servers/profile-servers.ts';
import { resourceServer, textAt } from '../servers/resource-server.ts';

const SECRET = 'file:///private/s.txt';

/** Spellings that a server may read as `file:///private/s.txt`. */
const AMBIGUOUS = [
  'pub/../s.txt',
  'pub/..%2fs.txt',
  'pub%2f..%2fs.txt',
  'pub/%2e%2e/s.txt',
  'pub/.%2E/s.txt',
  'pub/..\\s.txt',
  'pub/..%5Cs.txt',
  'pub/%252e%252e/s.txt',
  'pub/%25252e%25252e/s.txt',
  'pub/..;/s.txt',
  'pub/.\t./s.txt',
  'pub/.\n./s.txt',
  'pub/\u2025/s.txt',
  'pub/\uff0e\uff0e/s.txt',
  'pub\uff0f..\uff0fs.txt',
  'pub/%c0%ae%c0%ae/s.txt',
  'pub/..',
].map((rest) => `file:///private/${rest}`);

const EQUIVALENT = [
  'file:///private/./s.txt',
  'file:///private//s.txt',
  'file:///private/%73.txt',
  'file:///private/S.TXT',
  'file:///private/s.txt#part',
  'file:///private/s.txt?part',
  'file:///private/s.txt/',
  'file:///private/s.txt.',
  'file:///private%2Fs.txt',
  'file:///private/s\u200c.txt',
  'file:///private/\uff53.txt',
];

/** Other ways to write the scheme and the authority. */
const AUTHORITIES = [
  'FILE:///private/s.txt',
  'file:/private/s.txt',
  'file://localhost/private/s.txt',
  'file:\\\\\\private\\s.txt',
  ' file:///private/s.txt',
];

const setting = async (config: object, uriTemplates = ['file:///private/{+name}', '{+anything}']) => {
  const server = resourceServer({
    resources: [{ uri: SECRET, name: 's' }],
    templates: uriTemplates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    read: (uri) => textAt(uri, 'secret'),
  });
  const gateway = await gatewayUnderTest({ servers: { fs: server }, config: { builtins, mode: 'open', ...config } });
  const ask = async (method: string, uri: string, profile?: string) => {
    const post = postTo(gateway, profile);
    const session = method === 'resources/subscribe' ? await openSession({ post }) : {};
    const { json } = await post({ id: 1, method, params: { uri } }, session);
    return json.error as { message: string; data: { code: string } } | undefined;
  };
  const reached = () => server.requests.flatMap(([method, { uri }]) => (/read|subscribe/.test(method) ? [uri] : []));
  return { ask, reached };
};

describe('a URI that can be read in more than one way', () => {
  verifies('P2', 'opens nothing outside of the URI patterns of a profile', async () => {
    const { ask, reached } = await setting({ profiles: { pub: { tools: ['file:///private/pub/*'] } } });
    const own = AMBIGUOUS.map((uri) => `heddle://fs/${uri}`);
    for (const uri of [...AMBIGUOUS, ...own]) {
      for (const method of ['resources/read', 'resources/subscribe']) {
        expect([uri, (await ask(method, uri, 'pub'))?.data.code]).toEqual([uri, 'NAME_UNKNOWN']);
      }
    }
    expect(reached()).toEqual([]);
    for (const name of ['a.txt', '..hidden', 'a...b', 'caf%C3%A9.md', 'café.md', 'a%20b', 'a b?x=1#y']) {
      expect([name, await ask('resources/read', `file:///private/pub/${name}`, 'pub')]).toEqual([name, undefined]);
    }
  });

  verifies('G2', 'does not get past a denial or an exclusion of what it may mean', async () => {
    const config = {
      permissions: { deny: [SECRET] },
      profiles: {
        most: { exclude: ['file:///private/s.*'] },
        denied: { permissions: { deny: ['mcp__fs__note://n'] } },
      },
    };
    const { ask, reached } = await setting(config);
    for (const uri of [...AMBIGUOUS, ...EQUIVALENT, ...AUTHORITIES]) {
      for (const profile of [undefined, 'most']) {
        for (const spelled of [uri, `heddle://fs/${uri}`]) {
          expect([uri, profile, (await ask('resources/read', spelled, profile))?.data.code]).toEqual([
            uri,
            profile,
            'NAME_UNKNOWN',
          ]);
        }
      }
    }
    expect(await ask('resources/read', 'note://n/', 'denied')).toMatchObject({ data: { code: 'NAME_UNKNOWN' } });
    expect(reached()).toEqual([]);
    expect(await ask('resources/read', 'file:///private/t.txt')).toBeUndefined();
  });

  verifies('R6', 'is refused with the URI and the reason, and read where no rule names a URI', async () => {
    const uri = 'file:///private/pub/../s.txt';
    const ruled = await setting({ profiles: { pub: { tools: ['file:///private/pub/*'] } } });
    const { message } = (await ruled.ask('resources/read', uri, 'pub')) ?? { message: '' };
    expect(message).toContain(uri);
    expect(message).toContain('“.” or “..”');
    for (const profiles of [{ pub: {} }, { pub: { tools: ['mcp__fs__*'] } }, { pub: { tools: ['fs.*'] } }]) {
      const free = await setting({ profiles, permissions: { deny: ['note://x'] } });
      expect(await free.ask('resources/read', uri, 'pub')).toBeUndefined();
      expect(free.reached()).toEqual([uri]);
    }
  });
});

verifies('G2', 'rules apply to a URI that a simple variable matches with its slashes', async () => {
  const config = {
    permissions: { deny: [SECRET] },
    profiles: { pub: { tools: ['file:///private/pub/*'] } },
  };
  const { ask, reached } = await setting(config, ['file:///{path}']);
  for (const uri of [...EQUIVALENT.filter((one) => !/[?#]/.test(one)), 'file:///private/pub/../s.txt', SECRET]) {
    expect([uri, (await ask('resources/read', uri))?.data.code]).toEqual([uri, 'NAME_UNKNOWN']);
  }
  expect((await ask('resources/read', 'file:///private/other/a.txt', 'pub'))?.data.code).toBe('NAME_UNKNOWN');
  expect(reached()).toEqual([]);
  for (const [uri, profile] of [['file:///private/other/a.txt'], ['file:///private/pub/a/b.txt', 'pub']] as const)
    expect([uri, await ask('resources/read', uri, profile)]).toEqual([uri, undefined]);
});
