import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';
import { HeddleError } from '../../core/errors.ts';

/** A file of an archive. Folders are not listed; the names of files imply them. */
export interface ZipFile {
  /** A relative path with `/` that never leaves the archive. */
  readonly name: string;
  read(): Promise<Buffer>;
}

const MAX_FILES = 10_000;
const MAX_BYTES = 100 * 1024 * 1024;
const MAX_RATIO = 100;
// Below this size the ratio is not limited.
const RATIO_LIMITED_FROM = 1024 * 1024;

const END = 0x06054b50;
const END_BYTES = 22;
const CENTRAL = 0x02014b50;
const CENTRAL_BYTES = 46;
const LOCAL = 0x04034b50;
const LOCAL_BYTES = 30;
const ENCRYPTED = 0x1;
const STORED = 0;
const DEFLATED = 8;
const UNIX = 3;
const FILE_TYPE = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;

const inflate = promisify(inflateRaw) as (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
  readonly next: number;
}

/** Lists an untrusted zip archive. Throws CONFIG_INVALID for any inconsistency, before anything is unpacked. */
export function readZip(bytes: Buffer): readonly ZipFile[] {
  const { count, start } = findEnd(bytes);
  const entries: Entry[] = [];
  for (let at = start; entries.length < count; ) {
    const entry = centralEntry(bytes, at);
    entries.push(entry);
    at = entry.next;
  }
  checkSizes(entries);
  checkNames(entries.map(({ name }) => name));
  const spans = entries.map((entry) => ({ entry, ...spanOf(bytes, entry, start) }));
  checkOverlap(spans);
  return spans
    .filter(({ entry }) => !entry.name.endsWith('/'))
    .map(({ entry, from, to }) => ({ name: entry.name, read: () => unpack(entry, bytes.subarray(from, to)) }));
}

function findEnd(bytes: Buffer): { count: number; start: number } {
  const lowest = Math.max(0, bytes.length - END_BYTES - 0xffff);
  for (let at = bytes.length - END_BYTES; at >= lowest; at--) {
    if (bytes.readUInt32LE(at) !== END) continue;
    const [disk, centralDisk, here, count] = [4, 6, 8, 10].map((offset) => bytes.readUInt16LE(at + offset));
    const start = bytes.readUInt32LE(at + 16);
    if (disk !== 0 || centralDisk !== 0 || here !== count || count === undefined) throw unusable('has several parts');
    if (count === 0xffff || start === 0xffffffff) throw unusable('is a zip64 archive');
    if (count > MAX_FILES) throw unusable(`has more than ${MAX_FILES} files`);
    if (start + bytes.readUInt32LE(at + 12) !== at) throw unusable('has its directory at the wrong offset');
    return { count, start };
  }
  throw unusable('is not a zip archive');
}

function centralEntry(bytes: Buffer, at: number): Entry {
  if (at + CENTRAL_BYTES > bytes.length || bytes.readUInt32LE(at) !== CENTRAL) throw unusable('has a broken directory');
  const nameEnd = at + CENTRAL_BYTES + bytes.readUInt16LE(at + 28);
  const name = decode(bytes.subarray(at + CENTRAL_BYTES, nameEnd));
  const method = bytes.readUInt16LE(at + 10);
  const type = (bytes.readUInt32LE(at + 38) >>> 16) & FILE_TYPE;
  if (bytes.readUInt8(at + 5) === UNIX && type !== 0 && type !== REGULAR && type !== FOLDER) {
    throw unusable(`has ${JSON.stringify(name)}, which is a link or a device`);
  }
  if (bytes.readUInt16LE(at + 8) & ENCRYPTED) throw unusable('is encrypted');
  if (method !== STORED && method !== DEFLATED) throw unusable(`uses the unknown compression method ${method}`);
  return {
    name,
    method,
    crc: bytes.readUInt32LE(at + 16),
    packed: bytes.readUInt32LE(at + 20),
    size: bytes.readUInt32LE(at + 24),
    offset: bytes.readUInt32LE(at + 42),
    next: nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32),
  };
}

function decode(name: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(name);
  } catch {
    throw unusable('has a name that is not UTF-8');
  }
}

function checkSizes(entries: readonly Entry[]): void {
  const size = entries.reduce((sum, entry) => sum + entry.size, 0);
  const packed = entries.reduce((sum, entry) => sum + entry.packed, 0);
  if (size > MAX_BYTES) throw unusable(`unpacks to more than ${MAX_BYTES} bytes`);
  if (size > RATIO_LIMITED_FROM && size > packed * MAX_RATIO) throw unusable(`unpacks to ${MAX_RATIO} times its size`);
}

function checkNames(names: readonly string[]): void {
  const seen = new Set<string>();
  const files = new Set(names.filter((name) => !name.endsWith('/')).map(folded));
  for (const name of names) {
    const steps = name.replace(/\/$/, '').split('/');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters
    const odd = /[\u0000-\u001f\\:]/.test(name) || steps.some((step) => step === '' || step === '.' || step === '..');
    if (odd) throw unusable(`has ${JSON.stringify(name)}, which is not a plain relative path`);
    const inFile = steps.slice(0, -1).some((_, index) => files.has(folded(steps.slice(0, index + 1).join('/'))));
    if (seen.has(folded(name)) || inFile) throw unusable(`has ${JSON.stringify(name)} twice`);
    seen.add(folded(name));
  }
}

// Some file systems ignore case or Unicode normalization, so such names count as equal.
const folded = (name: string): string => name.replace(/\/$/, '').normalize('NFC').toLowerCase();

interface Span {
  readonly from: number;
  readonly to: number;
}

function spanOf(bytes: Buffer, { name, method, packed, offset }: Entry, limit: number): Span {
  const nameAt = offset + LOCAL_BYTES;
  if (nameAt > limit || bytes.readUInt32LE(offset) !== LOCAL) throw unusable('has a broken entry');
  const nameEnd = nameAt + bytes.readUInt16LE(offset + 26);
  const from = nameEnd + bytes.readUInt16LE(offset + 28);
  const same = bytes.readUInt16LE(offset + 8) === method && decode(bytes.subarray(nameAt, nameEnd)) === name;
  if (!same) throw unusable(`has two different headers for ${JSON.stringify(name)}`);
  if (from + packed > limit) throw unusable('is truncated');
  return { from, to: from + packed };
}

// Overlapping entries let a small archive unpack to any size.
function checkOverlap(spans: readonly (Span & { readonly entry: Entry })[]): void {
  const sorted = spans.toSorted((a, b) => a.entry.offset - b.entry.offset);
  for (const [index, { to }] of sorted.entries()) {
    if (to > (sorted[index + 1]?.entry.offset ?? to)) throw unusable('has entries that overlap');
  }
}

async function unpack({ name, method, crc, size }: Entry, packed: Buffer): Promise<Buffer> {
  const broken = () => unusable(`is damaged at ${JSON.stringify(name)}`);
  const plain =
    method === STORED
      ? packed
      : await inflate(packed, { maxOutputLength: Math.max(size, 1) }).catch(() => Promise.reject(broken()));
  if (plain.length !== size || crc32(plain) !== crc) throw broken();
  return plain;
}

function unusable(reason: string): HeddleError {
  return new HeddleError('CONFIG_INVALID', `The archive ${reason}.`, { fix: 'Get the bundle again from its author.' });
}
