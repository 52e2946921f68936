import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { type ApplicationName, HOSTS } from './hosts.ts';

const WHERE = { file: 'mcp.json' };
const left = (host: ApplicationName, servers: object) => {
  const text = JSON.stringify({ mcpServers: servers });
  const { servers: imported, notes } = HOSTS[host].from(text, WHERE);
  const after = HOSTS[host].disable(Object.keys(imported), text, WHERE).text;
  return { imported, notes, left: JSON.parse(after).mcpServers };
};

verifies('C12', 'disables the server that was imported, not another one whose name becomes the same', () => {
  const [a, b] = [{ command: 'a' }, { command: 'b' }];
  const isLeftOut = ['`my server`: It is left out: another server already has the name `my-server`.'];
  expect(left('cursor', { 'my server': a, 'my-server': b })).toMatchObject({
    imported: { 'my-server': b },
    notes: isLeftOut,
    left: { 'my server': a },
  });
  expect(left('cursor', { 'my server': {}, 'my.server': b })).toMatchObject({
    imported: {},
    left: { 'my server': {}, 'my.server': b },
  });
});
