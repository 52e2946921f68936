import { release } from '../../wire/line-framer.ts';

export interface StderrTail {
  hear(chunk: Buffer): void;
  text(): string;
}

/** Keeps the end of whatever a stream says, in one piece of memory that is never replaced. */
export function stderrTail(bytes: number): StderrTail {
  let ring: Buffer | undefined;
  let heard = 0;
  return {
    hear(chunk) {
      ring ??= Buffer.allocUnsafeSlow(bytes);
      const tail = chunk.subarray(-bytes);
      heard += chunk.length - tail.length;
      const place = heard % bytes;
      const fitting = tail.copy(ring, place);
      tail.copy(ring, 0, fitting);
      heard += tail.length;
      release(chunk);
    },
    text() {
      if (!ring || heard <= bytes) return ring?.toString('utf8', 0, heard) ?? '';
      const place = heard % bytes;
      return Buffer.concat([ring.subarray(place), ring.subarray(0, place)]).toString('utf8');
    },
  };
}
