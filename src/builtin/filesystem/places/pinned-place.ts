import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolFailure } from '../../tool-failure.ts';
import type { FilePlace } from './place.ts';

// Missing in fs.constants; the same number on x64 and arm64. An O_PATH handle does not open the file itself, so a FIFO
// does not block and a device is not touched.
const O_PATH = 0o10000000;
const NAME_ONLY = O_PATH | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Opens an O_PATH handle on a root (Linux). `child` then resolves one name at a time, relative to the handle. */
export async function pinRoot(real: string): Promise<FilePlace> {
  const place = await pin(real, real);
  try {
    // A parent of the root may have become a symbolic link since the start, so the real path of the handle is checked.
    if ((await readlink(place.address)) === real) return place;
    throw new ToolFailure('The root has moved since the server started. Restart the server.');
  } catch (thrown) {
    await place.close();
    throw thrown;
  }
}

async function pin(path: string, real: string): Promise<FilePlace> {
  const handle = await open(path, NAME_ONLY);
  try {
    return placeOf(handle, real, await handle.stat());
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

function placeOf(handle: FileHandle, real: string, stats: FilePlace['stats']): FilePlace {
  const address = `/proc/self/fd/${handle.fd}`;
  return {
    real,
    stats,
    address,
    child: (name) => pin(`${address}/${name}`, join(real, name)),
    open: () => open(address, READ),
    hasMoved: async () => (await readlink(address)) !== real,
    close: () => handle.close(),
  };
}
