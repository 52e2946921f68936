const MANY = 1000;

/**
 * Bytes that arrive in pieces and are wanted whole. Whoever sends byte by byte must not cost a hundred bytes of memory for
 * each: many small pieces become one.
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
    // Only the newest are joined: copying the older ones again each time would be quadratic.
    if (this.#parts.push(piece) - this.#joined < MANY) return;
    this.#parts.push(join(this.#parts.splice(this.#joined)));
    this.#joined = this.#parts.length;
  }

  /** How they begin: at most this many. */
  head(bytes: number): Buffer {
    return (this.#parts[0] ?? Buffer.alloc(0)).subarray(0, bytes);
  }

  /** All of them; afterwards there are none. */
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

/** In memory of its own: what shares some would keep the rest of it alive. */
function join(parts: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) at += part.copy(whole, at);
  return whole;
}
