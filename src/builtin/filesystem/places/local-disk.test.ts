import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isOnLocalDisk } from './local-disk.ts';

const mounted = (point: string, type: string) => `36 35 98:0 / ${point} rw,noatime shared:1 - ${type} /dev/x rw`;

function tableOf(...mounts: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-mounts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'mountinfo'), mounts.join('\n'));
  return join(folder, 'mountinfo');
}

it('knows the type of the nearest mount above a directory', async () => {
  const table = tableOf(mounted('/', 'ext4'), mounted('/home', 'nfs4'), mounted('/home/ada/disk', 'xfs'));
  expect(await isOnLocalDisk('/srv/files', table)).toBe(true);
  expect(await isOnLocalDisk('/home/ada', table)).toBe(false);
  expect(await isOnLocalDisk('/home/ada/disk/x', table)).toBe(true);
  expect(await isOnLocalDisk('/homes', table)).toBe(true);
});

it('takes the later of two mounts at one point', async () => {
  expect(await isOnLocalDisk('/srv', tableOf(mounted('/', 'ext4'), mounted('/', 'fuse.sshfs')))).toBe(false);
});

it('finds another file system mounted below, but for those of the kernel', async () => {
  const table = tableOf(mounted('/', 'ext4'), mounted('/proc', 'proc'), mounted('/srv/my\\040share', 'cifs'));
  expect(await isOnLocalDisk('/srv', table)).toBe(false);
  expect(await isOnLocalDisk('/srv/my share', table)).toBe(false);
  expect(await isOnLocalDisk('/', tableOf(mounted('/', 'ext4'), mounted('/proc', 'proc')))).toBe(true);
});

it('takes an unknown type and an unreadable table for a file system that may hang', async () => {
  expect(await isOnLocalDisk('/srv', tableOf(mounted('/', 'newfs')))).toBe(false);
  expect(await isOnLocalDisk('/srv', '/nowhere/mountinfo')).toBe(false);
});
