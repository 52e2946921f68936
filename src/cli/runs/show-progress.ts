import type { RunEvent } from '../../core/records/run.ts';
import { formatStep, stepLines } from './step-lines.ts';
import { openStepTree, type StepNode, shortStepPath } from './step-tree.ts';

/** Shows the steps of a run while it goes on. */
export interface RunProgress {
  /** Adds events of the run, or with the prefix of their paths those of a run that a step began. */
  add(events: readonly RunEvent[], prefix?: string): void;
  /** Runs something that writes to the terminal, such as a prompt. Steps are shown again below it. */
  aside<T>(prompt: () => Promise<T>): Promise<T>;
  /** Shows the last state and stops. */
  end(): void;
}

const REDRAW_MS = 100;
const DEFAULT_ROWS = 24;
const DEFAULT_COLUMNS = 80;

/** Shows a tree that is redrawn in place on a terminal, and one line per step that has ended elsewhere. */
export const showRunProgress = (stream: NodeJS.WriteStream, now: () => number = Date.now): RunProgress =>
  stream.isTTY ? liveTree(stream, now) : plainLines(stream, now);

function liveTree(stream: NodeJS.WriteStream, now: () => number): RunProgress {
  const tree = openStepTree();
  let drawn = 0;
  let asides = 0;
  let hasEnded = false;
  const draw = () => {
    if (asides > 0 || hasEnded) return;
    // Some pseudoterminals report 0.
    const [rows, columns] = [stream.rows || DEFAULT_ROWS, stream.columns || DEFAULT_COLUMNS];
    const lines = stepLines(tree.root, { now: now(), columns }, Math.max(rows - 2, 3));
    // One write: the terminal never shows a half-drawn tree.
    if (lines.length > 0) stream.write(redrawn(lines, drawn));
    drawn = lines.length;
  };
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    add(events, prefix) {
      for (const event of events) tree.add(event, prefix);
    },
    async aside(prompt) {
      draw();
      drawn = 0;
      asides++;
      try {
        return await prompt();
      } finally {
        asides--;
      }
    },
    end() {
      clearInterval(timer);
      draw();
      hasEnded = true;
    },
  };
}

/** Returns the text that replaces the `drawn` lines above the cursor. Each line is cleared behind its end. */
const redrawn = (lines: readonly string[], drawn: number): string =>
  `${drawn > 0 ? `\x1b[${drawn}A` : ''}\r${lines.map((line) => `${line}\x1b[K\n`).join('')}\x1b[J`;

const SHOWN_STATES: readonly (StepNode['state'] | undefined)[] = ['done', 'failed', 'skipped', 'waiting', 'in-doubt'];

/** Writes a line when a step ends or waits. Of the steps of items only failures are written: there may be thousands. */
function plainLines(stream: NodeJS.WriteStream, now: () => number): RunProgress {
  const tree = openStepTree();
  const style = { columns: Number.POSITIVE_INFINITY };
  return {
    add(events, prefix) {
      for (const event of events) {
        const node = tree.add(event, prefix);
        if (!node || !SHOWN_STATES.includes(node.state)) continue;
        if (node.path.includes('[') && node.state !== 'failed' && node.state !== 'in-doubt') continue;
        const name = shortStepPath(tree.root, node);
        stream.write(`${formatStep({ ...node, name }, { ...style, now: now() }, 0)}\n`);
      }
    },
    aside: (prompt) => prompt(),
    end() {},
  };
}
