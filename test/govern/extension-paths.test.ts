import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { gatewayUnderTest, modern } from '../../src/gateway/fixtures.ts';
import { countsIn, openedIn } from '../path-counts.ts';
import { serverPaths } from '../paths.ts';
import { verifies } from '../requirements.ts';
import { temporaryFolder } from '../temporary-heddle.ts';

const extensions = { 'com.example/count': { methods: ['count/allowed', 'count/failing'] } };
const servers = serverPaths();

verifies(
  'G1',
  `a method of an extension reaches a server by ${servers.map(({ path }) => path).join(', ')}`,
  async () => {
    for (const { path, era, open } of servers) {
      const folder = await temporaryFolder();
      const counts = join(folder, 'counts');
      const {
        entry = { type: 'sdk', name: 'program' },
        inProcess,
        settings,
        close,
      } = await open({ era, folder, counts });
      if (close) onTestFinished(close);
      const config = { mode: 'open', ...settings, mcpServers: { counter: { ...entry, extensions } } };
      const given = inProcess ? { servers: { program: inProcess } } : {};
      const gateway = await gatewayUnderTest({ folder, config, env: { PATH: process.env.PATH ?? '' }, ...given });
      for (const one of ['allowed', 'failing']) await gateway.post(...modern(`count/${one}`));
      const counted = await countsIn(counts);
      expect(counted, path).toEqual({ 'extension allowed': 1, 'extension failing': 1 });
      expect(openedIn(await gateway.audit(), 'allow'), path).toEqual(counted);
    }
  },
);
