import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { gatewayUnderTest, TOKEN, temporaryFolder } from './fixtures.ts';
import { gatewayToken } from './gateway-token.ts';
import { announceGateway, askGateway, findGateway, withdrawGateway } from './running-gateway.ts';

const { pid } = process;
const note = { url: 'http://127.0.0.1:1/mcp', token: 't', pid, project: '/p' };

describe('the note of a running gateway', () => {
  verifies('L7', 'is readable by its owner alone, found, and taken away', async () => {
    const home = await temporaryFolder();
    await writeFile(join(home, 'gateway.json'), 'old', { mode: 0o644 });
    await announceGateway(home, note);
    expect((await stat(join(home, 'gateway.json'))).mode & 0o777).toBe(0o600);
    expect(await findGateway(home)).toEqual(note);
    await withdrawGateway(home, pid);
    expect(await findGateway(home)).toBeUndefined();
    await expect(stat(join(home, 'gateway.json'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  verifies('L7', 'of another gateway is left alone', async () => {
    const home = await temporaryFolder();
    await announceGateway(home, { ...note, pid: pid + 1 });
    await withdrawGateway(home, pid);
    expect(await readFile(join(home, 'gateway.json'), 'utf8')).toContain('"token":"t"');
  });

  it.each([
    ['broken', '{"url":'],
    ['half', '{"url":"http://x"}'],
    ['a list', '[]'],
    ['of a process that is gone', JSON.stringify({ ...note, pid: 2 ** 22 + 1 })],
    ['of a pid that is no number', JSON.stringify({ ...note, pid: 'me' })],
  ])('L7: that is %s counts as none', async (_, text) => {
    const home = await temporaryFolder();
    await writeFile(join(home, 'gateway.json'), text);
    expect(await findGateway(home)).toBeUndefined();
  });
});

describe('asking a running gateway', () => {
  verifies('L7', 'gives what is under /api, and nothing when it is stale or refuses', async () => {
    const { url } = await gatewayUnderTest();
    const running = { url, token: TOKEN, pid, project: '/' };
    expect(await askGateway(running, '/api/version')).toMatchObject({ pid });
    expect(await askGateway(running, '/api/servers')).toMatchObject({ servers: [{ name: 'filesystem' }] });
    expect(await askGateway({ ...running, token: 'wrong' }, '/api/version')).toBeUndefined();
    expect(await askGateway({ ...running, url: 'http://127.0.0.1:1/mcp' }, '/api/version')).toBeUndefined();
  });
});

describe('the token of the gateway', () => {
  verifies('P4', 'is the preset one, else made once and kept for its owner alone', async () => {
    const home = join(await temporaryFolder(), 'home');
    expect(await gatewayToken(home, 'preset')).toBe('preset');
    const made = await gatewayToken(home, undefined);
    expect(made).toMatch(/^[\w-]{32}$/);
    expect(await gatewayToken(home, '')).toBe(made);
    expect((await stat(join(home, 'gateway-token'))).mode & 0o777).toBe(0o600);
    expect((await stat(home)).mode & 0o777).toBe(0o700);
    expect(await gatewayToken(join(home, 'other'), undefined)).not.toBe(made);
  });
});
