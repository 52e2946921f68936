import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { stripVTControlCharacters } from 'node:util';
import { onTestFinished } from 'vitest';
import { carriersOf, runningWith } from '../alive.ts';
import { until } from '../until.ts';
import { BIN, type Project } from './heddle-command.ts';

export interface Terminal {
  /** Returns the whole output without colours. */
  readonly screen: () => string;
  /** Waits for a prompt, then types a line. */
  type(after: string, line: string): Promise<void>;
  /** Waits for a text, then presses keys without Enter. */
  press(after: string, keys: string): Promise<void>;
  /** Sends a signal to the command. */
  interrupt(name: NodeJS.Signals): void;
  /** Resolves with the exit code. */
  ended(): Promise<number | null>;
}

/** Starts a command in a terminal. It ends with the test. */
export async function terminal(
  { folder, env, heddle }: Project,
  args: readonly string[],
  size?: { readonly rows: number; readonly cols: number },
): Promise<Terminal> {
  await heddle(['--version']); // Trusts the project.
  const quoted = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  const sized = size ? `stty rows ${size.rows} cols ${size.cols}; ${quoted}` : quoted;
  const child: ChildProcess = spawn('script', ['-qefc', sized, '/dev/null'], { cwd: folder, env: { ...env } });
  const exit = once(child, 'close');
  onTestFinished(() => void child.kill('SIGKILL'));
  let shown = '';
  let read = 0;
  child.stdout?.on('data', (chunk) => (shown += chunk));
  const screen = () => stripVTControlCharacters(shown).replaceAll('\r', '');
  const press = async (after: string, keys: string) => {
    await until(`${after} is shown in ${JSON.stringify(screen())}`, () => screen().indexOf(after, read) >= 0);
    read = screen().indexOf(after, read) + after.length;
    child.stdin?.write(keys);
  };
  return {
    screen,
    type: (after, line) => press(after, `${line}\r`),
    press,
    interrupt(name) {
      const ours = carriersOf(`HEDDLE_HOME=${env.HEDDLE_HOME}\0`);
      for (const pid of runningWith(`${BIN}\0call\0`)) if (ours.includes(pid)) process.kill(pid, name);
    },
    async ended() {
      const [code] = await exit;
      return code;
    },
  };
}
