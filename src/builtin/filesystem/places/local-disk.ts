import { readFile } from 'node:fs/promises';
import { isInside, isKernelPath } from './is-inside.ts';

const LOCAL_TYPES: readonly string[] = ['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'tmpfs', 'overlay'];

interface Mount {
  readonly point: string;
  readonly type: string;
}

/**
 * Tests whether a directory, and all that is mounted below it, is on local disks or in memory (Linux). Reads the table of
 * mounts and touches none of them, because a network file system may hang.
 */
export async function isOnLocalDisk(directory: string, table = '/proc/self/mountinfo'): Promise<boolean> {
  const mounts = (await readFile(table, 'utf8').catch(() => '')).split('\n').flatMap(toMount);
  const containing = mounts.filter(({ point }) => isInside(point, directory));
  const nearest = containing.reduce<Mount | undefined>(
    (best, mount) => (best && best.point.length > mount.point.length ? best : mount),
    undefined,
  );
  const below = mounts.filter(({ point }) => isInside(directory, point) && !isKernelPath(point));
  return nearest !== undefined && [nearest, ...below].every(({ type }) => LOCAL_TYPES.includes(type));
}

/** Parses a line of mountinfo: the fifth field is the mount point, and the type follows ` - `. */
function toMount(line: string): readonly Mount[] {
  const [fields = '', source = ''] = line.split(' - ');
  const point = fields.split(' ')[4];
  const [type = ''] = source.split(' ');
  return point === undefined ? [] : [{ point: point.replace(/\\([0-7]{3})/g, toCharacter), type }];
}

const toCharacter = (_: string, octal: string) => String.fromCharCode(Number.parseInt(octal, 8));
