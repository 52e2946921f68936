import { expect } from 'vitest';
import { verifies } from '../requirements.ts';
import { project } from './heddle-command.ts';
import { terminal } from './terminal.ts';

const PAUSED = { command: 'no-such-program', args: ['${UNSET_FOR_PAUSED}'], disabled: true };
const REMOTE = {
  url: 'https://${UNSET_HOST}/mcp',
  headers: { Authorization: 'Bearer ${UNSET_TOKEN}' },
  enabled: false,
};

verifies(
  'C2',
  'lists a disabled server with unset variables as disabled, and prints nothing else about it',
  async () => {
    const here = project({
      '.mcp.json': { mcpServers: { paused: PAUSED } },
      'heddle.json': { mcpServers: { remote: REMOTE } },
    });
    const listed = await terminal(here, ['list', 'servers']);
    expect(await listed.ended()).toBe(0);
    expect(listed.screen()).toMatch(/^paused +disabled +stdio +project /m);
    expect(listed.screen()).toMatch(/^remote +disabled +http +project /m);
    const checked = await terminal(here, ['doctor']);
    expect(await checked.ended()).toBe(0);
    expect(checked.screen()).toContain('✓ server paused: disabled');
    for (const words of [['doctor', 'remote'], ['list', 'tools'], ['list', 'servers', '--check'], []]) {
      const { code, stdout, stderr } = await here.heddle(words);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).not.toContain('UNSET');
    }
    const up = await here.up();
    expect(await up.stop()).toBe(0);
    for (const shown of [listed.screen(), checked.screen(), up.stderr()]) expect(shown).not.toContain('UNSET');
  },
);

verifies('C2', 'enables a server of .mcp.json that has `disabled: true`', async () => {
  const here = project({ '.mcp.json': { mcpServers: { paused: PAUSED } } });
  expect(await here.heddle(['enable', 'paused'])).toMatchObject({ code: 0 });
  const { stdout } = await here.heddle(['list', 'servers', '--json']);
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'paused', state: 'failed' }));
});
