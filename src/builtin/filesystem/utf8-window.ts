const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LONGEST_TAIL = 3;

/**
 * Decodes the bytes from `start` to `end`, both moved back to the start of their character. Adjacent windows therefore
 * join without a gap. `bytes` has up to three bytes before `start` and one after `end`. Returns undefined for bytes
 * that are not UTF-8 text.
 */
export function decodeWindow(bytes: Buffer, start: number, end: number): string | undefined {
  const window = bytes.subarray(startOfCharacter(bytes, start), startOfCharacter(bytes, end));
  // NUL is valid UTF-8, but it occurs in binary files and UTF-16, not in text.
  if (window.includes(0)) return undefined;
  try {
    return strict.decode(window);
  } catch {
    return undefined;
  }
}

function startOfCharacter(bytes: Buffer, at: number): number {
  let start = Math.min(at, bytes.length);
  const lowest = Math.max(0, start - LONGEST_TAIL);
  while (start > lowest && isTail(bytes[start])) start--;
  return start;
}

const isTail = (byte: number | undefined) => byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
