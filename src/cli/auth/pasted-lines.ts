import { createInterface } from 'node:readline';

export interface PastedLinesOptions {
  readonly onLine: (line: string) => void;
  /** Called for Ctrl-C: a terminal in raw mode sends no signal. */
  readonly onInterrupt: () => void;
}

/** Reads lines that the user pastes, or that a script writes to stdin. Returns the function that ends that. */
export function readPastedLines({ onLine, onInterrupt }: PastedLinesOptions): () => void {
  const input = process.stdin;
  // Raw mode takes lines of more than 4,096 characters, too.
  const lines = createInterface({ input, ...(input.isTTY && { output: process.stderr, terminal: true }) });
  lines.on('line', onLine);
  lines.on('SIGINT', onInterrupt);
  return () => {
    lines.close();
    input.unref?.(); // A pipe that stays open must not keep the command running.
  };
}
