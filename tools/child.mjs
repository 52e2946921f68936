import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'];
// Ctrl-C arrives twice when npm passes on what the terminal has sent to the whole group already.
const ECHO_MS = 150;
const PIPE_MS = 1000;

/**
 * Runs a command to its end in a process group of its own and passes stop signals on to it, each once.
 * Nothing of the group is left when the promise settles.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<{ code: number, output: string, stopped: boolean }>} stopped: because this process was told to stop
 */
export function runChild(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, detached: true });
    const output = [];
    child.stdout?.on('data', (chunk) => output.push(chunk));
    child.stderr?.on('data', (chunk) => output.push(chunk));
    const { letGo, stopped } = passSignals(child);
    child.once('error', (error) => {
      letGo();
      reject(error);
    });
    child.once('exit', () => {
      letGo();
      signalGroup(child.pid, 'SIGKILL');
      // What has left the group may still hold the pipes open, and 'close' would wait for it.
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
    if (Date.now() - last < ECHO_MS) return;
    last = Date.now();
    // To the leader alone: it knows how to stop what it has started. Whatever it forgets is killed at its exit.
    child.kill(signal);
  };
  for (const signal of STOPPING) process.on(signal, pass);
  const parent = process.ppid;
  // A killed npm sends nothing: its scripts only get another parent. A person may leave a shell behind, though.
  const watch = process.env.npm_lifecycle_event && setInterval(() => process.ppid === parent || pass('SIGTERM'), 500);
  const letGo = () => {
    for (const signal of STOPPING) process.removeListener(signal, pass);
    if (watch) clearInterval(watch);
  };
  return { letGo, stopped: () => last > 0 };
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
