import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'];
// Ctrl-C arrives twice: the terminal signals the whole group, and npm forwards the signal again.
const REPEAT_MS = 150;
const PIPE_MS = 1000;

/**
 * Runs a command in a process group of its own and forwards SIGINT, SIGTERM and SIGHUP to it, each once.
 * When the promise settles, no process of the group is left.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<{ code: number, output: string, stopped: boolean }>} stopped: true if this process received a stop signal
 */
export function runChild(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, detached: true });
    const output = [];
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    const { removeListeners, stopped } = passSignals(child);
    child.once('error', (error) => {
      removeListeners();
      reject(error);
    });
    child.once('exit', () => {
      removeListeners();
      signalGroup(child.pid, 'SIGKILL');
      // A process that left the group may keep the pipes open, and 'close' would wait for it.
      setTimeout(closePipes, PIPE_MS, child).unref();
    });
    child.once('close', (code, signal) => {
      const text = Buffer.concat(output).toString();
      resolve({ code: code ?? 128 + constants.signals[signal], output: text, stopped: stopped() });
    });
  });
}

/** @param {import('node:child_process').ChildProcess} child */
function passSignals(child) {
  let last = 0;
  const pass = (signal) => {
    if (Date.now() - last < REPEAT_MS) return;
    last = Date.now();
    // Only to the leader, which stops its own children. The rest of the group is killed at its exit.
    child.kill(signal);
  };
  for (const signal of STOPPING) process.on(signal, pass);
  const parent = process.ppid;
  // A killed npm sends no signal; its scripts get another parent. Outside of npm, a new parent means nothing.
  const watch = process.env.npm_lifecycle_event && setInterval(() => process.ppid === parent || pass('SIGTERM'), 500);
  const removeListeners = () => {
    for (const signal of STOPPING) process.removeListener(signal, pass);
    if (watch) clearInterval(watch);
  };
  return { removeListeners, stopped: () => last > 0 };
}

function closePipes(child) {
  child.stdout?.destroy();
  child.stderr?.destroy();
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
