/** Bytes that arrive in pieces and are wanted whole. */
export interface GatheredBytes {
  readonly length: number;
  add(piece: Buffer): void;
  /** How they begin: at most this many. */
  head(bytes: number): Buffer;
  /** All of them; afterwards there are none. */
  take(): Buffer;
  clear(): void;
}

const MANY = 1000;

/** Whoever sends byte by byte must not cost a hundred bytes of memory for each: many small pieces become one. */
export function gatheredBytes(): GatheredBytes {
  let parts: Buffer[] = [];
  let joined = 0;
  let length = 0;

  function clear(): void {
    parts = [];
    joined = 0;
    length = 0;
  }

  return {
    get length() {
      return length;
    },
    add(piece) {
      length += piece.length;
      // Only the newest are joined: copying the older ones again each time would be quadratic.
      if (parts.push(piece) - joined < MANY) return;
      parts.push(join(parts.splice(joined)));
      joined = parts.length;
    },
    head: (bytes) => (parts[0] ?? Buffer.alloc(0)).subarray(0, bytes),
    take() {
      const [first] = parts;
      const whole = first && parts.length === 1 ? first : Buffer.concat(parts, length);
      clear();
      return whole;
    },
    clear,
  };
}

/** In memory of its own: what shares some would keep the rest of it alive. */
function join(parts: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(whole, at);
  return whole;
}
