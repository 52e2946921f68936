import { sep } from 'node:path';

// Kernel interfaces. Reading one can have effects, block, or show the memory and environment of this process.
const NOT_FILES = ['/proc', '/sys', '/dev'];

/** Tests whether a path is in `/proc`, `/sys` or `/dev`. */
export function isKernelPath(absolute: string): boolean {
  return NOT_FILES.some((one) => isInside(one, absolute));
}

/** Tests whether a normalized path is a directory or below it. `/root-evil` is not below `/root`. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);
}
