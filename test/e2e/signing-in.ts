import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/core/call.ts';
import { type AuthorizationServerOptions, openAuthorizationServer } from '../servers/authorization-server.ts';
import { openProtectedServer } from '../servers/protected-server.ts';
import { until } from '../until.ts';
import { BIN, type Outcome, type Project, project } from './heddle-command.ts';

/** An authorization server, a protected server and a project with that server as `demo`. */
export async function protectedProject({
  oauth,
  ...options
}: AuthorizationServerOptions & { readonly oauth?: JsonObject } = {}) {
  const authorization = await openAuthorizationServer(options);
  onTestFinished(() => authorization.close());
  const server = await openProtectedServer({
    era: 'legacy',
    authorizationServers: [authorization],
    requiredScopes: ['mcp:read'],
  });
  onTestFinished(() => server.close());
  const entry = { type: 'http', url: server.url, ...(oauth && { oauth }) };
  return { authorization, server, ...browserFor(project({ 'heddle.json': { mcpServers: { demo: entry } } })) };
}

/** Gives a project a browser that writes the address to a file. */
export function browserFor(plain: Project) {
  const [program, file] = [join(plain.folder, '..', 'browser'), join(plain.folder, '..', 'opened')];
  writeFileSync(program, `#!/bin/sh\nprintf '%s' "$1" > '${file}.part' && mv '${file}.part' '${file}'\n`);
  chmodSync(program, 0o755);
  const own: Project = { ...plain, env: { ...plain.env, BROWSER: program } };
  async function opened(): Promise<string> {
    await until('the browser was opened', () => existsSync(file));
    return readFileSync(file, 'utf8');
  }
  return { own, opened, wasOpened: () => existsSync(file) };
}

/** A running command whose stdin stays open. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  /** Waits for the authorization request that the command prints. */
  url(): Promise<string>;
  write(line: string): void;
  ended(): Promise<Outcome>;
}

/** Starts a command without a terminal. */
export async function startCommand({ folder, env, heddle }: Project, args: readonly string[]): Promise<RunningCommand> {
  await heddle(['--version']); // Trusts the project.
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, env: { ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'close');
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const urlIn = () => /^ {2}(https?:\/\/\S+)$/m.exec(stderr)?.[1];
  return {
    child,
    stderr: () => stderr,
    async url() {
      await until(`an address is printed in ${JSON.stringify(stderr)}`, () => {
        if (child.exitCode !== null) throw new Error(`The command ended: ${stderr}`);
        return urlIn() !== undefined;
      });
      return String(urlIn());
    },
    write: (line) => void child.stdin.write(`${line}\n`),
    async ended() {
      const [code] = await exit;
      return { code, stdout, stderr };
    },
  };
}
