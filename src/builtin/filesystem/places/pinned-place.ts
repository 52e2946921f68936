import { constants } from 'node:fs';
import { join } from 'node:path';
import { ToolFailure } from '../../tool-failure.ts';
import { openFile } from './open-file.ts';
import type { FilePlace } from './place.ts';
import type { SystemCalls } from './system-calls.ts';

// Missing in fs.constants; the same number on x64 and arm64. An O_PATH handle does not open the file itself, so a FIFO
// does not block and a device is not touched.
const O_PATH = 0o10000000;
const NAME_ONLY = O_PATH | constants.O_NOFOLLOW;
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Opens an O_PATH handle on a root (Linux). `child` then resolves one name at a time, relative to the handle. */
export async function pinRoot(real: string, calls: SystemCalls): Promise<FilePlace> {
  const place = await pin(real, real, calls);
  try {
    // A parent of the root may have become a symbolic link since the start, so the real path of the handle is checked.
    if ((await calls.readlink(place.address)) === real) return place;
    throw new ToolFailure('The root has moved since the server started. Restart the server.');
  } catch (thrown) {
    await place.close();
    throw thrown;
  }
}

async function pin(path: string, real: string, calls: SystemCalls): Promise<FilePlace> {
  const descriptor = await calls.open(path, NAME_ONLY);
  try {
    const address = `/proc/self/fd/${descriptor}`;
    return {
      real,
      stats: await calls.stat(descriptor),
      address,
      child: (name) => pin(`${address}/${name}`, join(real, name), calls),
      statsOf: (name) => calls.lstat(`${address}/${name}`),
      open: async () => openFile(await calls.open(address, READ), calls),
      hasMoved: async () => (await calls.readlink(address)) !== real,
      close: async () => calls.close(descriptor),
    };
  } catch (thrown) {
    await calls.close(descriptor);
    throw thrown;
  }
}
