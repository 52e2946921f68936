// Starts a stdio server and copies its stdin to a file: `node wiretap.mjs FILE COMMAND ARGS…`.
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';

const [file, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] });
process.stdin.pipe(createWriteStream(file, { flags: 'a' }));
process.stdin.pipe(child.stdin);
process.on('SIGINT', () => {}); // The server receives SIGINT too; this process exits with it.
child.on('exit', (code) => process.exit(code ?? 1));
