import { basename } from 'node:path';
import { isReservedName } from '../../config/schema/server-name.ts';

// Programs that run another program, with their own subcommands.
const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  npx: [],
  bunx: [],
  uvx: [],
  pnpx: [],
  pnpm: ['dlx', 'exec'],
  yarn: ['dlx', 'exec'],
  npm: ['exec', 'x'],
  bun: ['x', 'run'],
  uv: ['tool', 'run'],
  pipx: ['run'],
  node: [],
  deno: ['run'],
  python: [],
  python3: [],
  docker: ['run', 'container'],
  podman: ['run', 'container'],
};
const TAKES_VALUE = /^(-e|--env|-v|--volume|--mount|-p|--publish|--name|--network|-w|--workdir|-u|--user|--env-file)$/;

/** Derives a server name from its command: the package or program, without scope and version. */
export function nameOfCommand(command: string, args: readonly string[]): string {
  const program = basename(command);
  const own = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  if (own === undefined) return legal(withoutExtension(program));
  const container = program === 'docker' || program === 'podman';
  const words = args.filter((_, index) => !(container && TAKES_VALUE.test(args[index - 1] ?? '')));
  const named = words.find((word) => !word.startsWith('-') && !own.includes(word)) ?? program;
  return legal(withoutExtension(basename(named.replace(/(?<=.)(@|==|:)[^/]*$/, ''))));
}

// First labels that say nothing about the service, as in mcp.example.com.
const GENERIC = new Set(['mcp', 'api', 'www', 'server']);

/** Derives a server name from its URL: the first label of the host that is not generic; never the top-level domain. */
export function nameOfUrl(url: string): string {
  const { hostname } = new URL(url);
  const labels = /[a-z]/i.test(hostname) ? hostname.split('.') : [hostname];
  const own = labels.length > 1 ? labels.slice(0, -1) : labels;
  return legal(own.find((label) => !GENERIC.has(label)) ?? own[0] ?? 'server');
}

/** Returns true for a program that runs another program, such as npx. */
export const isRunner = (program: string): boolean => Object.hasOwn(RUNNERS, program);

/** Returns the name, with the first number that makes it unique if it is taken. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let number = 2;
  while (taken.has(`${name}-${number}`)) number++;
  return `${name}-${number}`;
}

function withoutExtension(word: string): string {
  return word.replace(/\.(js|mjs|cjs|ts|mts|py|sh|exe|git)$/, '');
}

// The prefix `a-` avoids the names that Heddle reserves.
function legal(label: string): string {
  const name = label.replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '') || 'server';
  return isReservedName(name) ? `a-${name}` : name;
}
