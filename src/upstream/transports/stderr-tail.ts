import { release } from '../../wire/line-framer.ts';

export interface StderrTail {
  add(chunk: Buffer): void;
  text(): string;
}

/** Keeps the last bytes of a stream in one fixed buffer. Its text begins with a whole line, if there is one. */
export function stderrTail(bytes: number): StderrTail {
  let ring: Buffer | undefined;
  let received = 0;
  return {
    add(chunk) {
      ring ??= Buffer.allocUnsafeSlow(bytes);
      const tail = chunk.subarray(-bytes);
      received += chunk.length - tail.length;
      const place = received % bytes;
      const fitting = tail.copy(ring, place);
      tail.copy(ring, 0, fitting);
      received += tail.length;
      release(chunk);
    },
    text() {
      if (!ring || received <= bytes) return ring?.toString('utf8', 0, received) ?? '';
      const place = received % bytes;
      const kept = Buffer.concat([ring.subarray(place), ring.subarray(0, place)]).toString('utf8');
      const newline = kept.indexOf('\n');
      return newline < 0 || newline === kept.length - 1 ? kept : kept.slice(newline + 1);
    },
  };
}
