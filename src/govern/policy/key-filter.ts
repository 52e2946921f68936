import { hash } from 'node:crypto';

/** A set of keys in constant memory that may contain a key that was never added, and never loses one. */
export interface KeyFilter {
  add(key: string): void;
  mayHave(key: string): boolean;
}

// 1 MB. With 100,000 keys one in a million others counts as added.
const BITS = 2 ** 23;
const PLACES = 5;

/** Creates a Bloom filter. Its memory is allocated with the first key. */
export function keyFilter(): KeyFilter {
  let bits: Uint8Array | undefined;

  function* placesOf(key: string): Generator<readonly [byte: number, mask: number]> {
    const digest = hash('sha256', key, 'buffer');
    for (let index = 0; index < PLACES; index++) {
      const place = digest.readUInt32LE(index * 4) % BITS;
      yield [place >> 3, 1 << (place & 7)];
    }
  }

  return {
    add(key) {
      bits ??= new Uint8Array(BITS / 8);
      for (const [byte, mask] of placesOf(key)) bits[byte] = (bits[byte] ?? 0) | mask;
    },
    mayHave(key) {
      if (!bits) return false;
      for (const [byte, mask] of placesOf(key)) if (((bits[byte] ?? 0) & mask) === 0) return false;
      return true;
    },
  };
}
