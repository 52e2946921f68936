const MANY = 1000;

/**
 * Collects bytes that arrive in pieces. A Buffer costs about 100 bytes of memory, also for one byte.
 * Therefore every 1000 pieces are joined into one.
 */
export class GatheredBytes {
  #parts: Buffer[] = [];
  #joined = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    this.#length += piece.length;
    // Only the newest pieces are joined. Copying the older ones again would be quadratic.
    if (this.#parts.push(piece) - this.#joined < MANY) return;
    this.#parts.push(join(this.#parts.splice(this.#joined)));
    this.#joined = this.#parts.length;
  }

  /** Returns the first bytes, at most this many. */
  head(bytes: number): Buffer {
    return (this.#parts[0] ?? Buffer.alloc(0)).subarray(0, bytes);
  }

  /** Returns all bytes and empties the collection. */
  take(): Buffer {
    const [first] = this.#parts;
    const whole = first && this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.#length);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#parts = [];
    this.#joined = 0;
    this.#length = 0;
  }
}

/** Joins pieces in memory of their own. A pooled Buffer would keep its whole pool alive. */
function join(parts: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(whole, at);
  return whole;
}
