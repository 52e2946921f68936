const ROUNDS = 64;
const BLOCK_BYTES = 64;
const LENGTH_BYTES = 8;

const PRIMES = firstPrimes(ROUNDS);
const ROUND_CONSTANTS = PRIMES.map((prime) => fractionOf(Math.cbrt(prime)));
const INITIAL = PRIMES.slice(0, 8).map((prime) => fractionOf(Math.sqrt(prime)));

/** Returns the SHA-256 of a text in hex. For code that may use no platform module; elsewhere use `node:crypto`. */
export function sha256OfText(text: string): string {
  const state = Uint32Array.from(INITIAL);
  const padded = pad(new TextEncoder().encode(text));
  for (let offset = 0; offset < padded.byteLength; offset += BLOCK_BYTES) {
    addBlock(state, new DataView(padded.buffer, offset, BLOCK_BYTES));
  }
  return [...state].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** Appends a one bit, zeros, and the length in bits. */
function pad(bytes: Uint8Array): Uint8Array {
  const blocks = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(blocks * BLOCK_BYTES);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  new DataView(padded.buffer).setBigUint64(padded.length - LENGTH_BYTES, BigInt(bytes.length) * 8n);
  return padded;
}

function addBlock(state: Uint32Array, block: DataView): void {
  const words = new Uint32Array(ROUNDS);
  const word = (at: number) => words[at] as number;
  for (let at = 0; at < 16; at++) words[at] = block.getUint32(4 * at);
  for (let at = 16; at < ROUNDS; at++) {
    const [near, far] = [word(at - 2), word(at - 15)];
    const spread = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3);
    words[at] = word(at - 16) + spread + word(at - 7) + (rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
  for (let at = 0; at < ROUNDS; at++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const first =
      h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + (ROUND_CONSTANTS[at] as number) + word(at);
    const second = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority;
    [a, b, c, d, e, f, g, h] = [(first + second) >>> 0, a, b, c, (d + first) >>> 0, e, f, g];
  }
  for (const [at, value] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] as number) + value;
}

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits));

/** Returns the first 32 bits of the fraction. */
function fractionOf(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
