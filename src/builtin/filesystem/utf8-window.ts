const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LONGEST_TAIL = 3;

/**
 * The text of the bytes from `start` to `end`, both moved back to the start of
 * the character they fall in. Windows that touch therefore join to the whole
 * text. `bytes` holds up to three more before `start` and one after `end`.
 * Undefined when it is not text.
 */
export function decodeWindow(bytes: Buffer, start: number, end: number): string | undefined {
  const window = bytes.subarray(startOfCharacter(bytes, start), startOfCharacter(bytes, end));
  // Valid UTF-8, but no text has it, and text in UTF-16 is full of it.
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
