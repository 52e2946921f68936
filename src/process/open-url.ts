import { spawn } from 'node:child_process';
import { findProgram } from './find-program.ts';

export interface OpenUrlOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
}

/**
 * Opens a URL in the user's browser: the program in `$BROWSER`, else that of the platform. The URL is one argument, so
 * no shell reads it. Returns false if it is not http(s), if there is no browser, or if it cannot be started.
 */
export async function openUrl(url: string, { env, platform = process.platform }: OpenUrlOptions): Promise<boolean> {
  const parsed = URL.parse(url);
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol)) return false;
  const opener = openerOf(env, platform);
  if (!opener) return false;
  const [command, ...args] = opener;
  if (platform !== 'win32' && !('file' in (await findProgram(command, { path: env.PATH })))) return false;
  return start(command, [...args, parsed.href]);
}

function openerOf(
  { BROWSER, DISPLAY, WAYLAND_DISPLAY }: OpenUrlOptions['env'],
  platform: NodeJS.Platform,
): readonly [string, ...string[]] | undefined {
  if (BROWSER) return [BROWSER];
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  // Without a display xdg-open starts a browser in the terminal, which would hide the prompt.
  return DISPLAY || WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

function start(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref(); // The browser stays open after the command.
      resolve(true);
    });
  });
}
