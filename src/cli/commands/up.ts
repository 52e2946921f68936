import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import colors from 'picocolors';
import { consoleApi } from '../../console/api.ts';
import { HeddleError } from '../../core/errors.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { authenticator } from '../../gateway/auth/authenticate.ts';
import { commandCaller } from '../../gateway/auth/command-caller.ts';
import { gatewayToken } from '../../gateway/auth/gateway-token.ts';
import { stateSecrets } from '../../gateway/continuations/state-secrets.ts';
import { DRAIN_MS } from '../../gateway/in-flight.ts';
import { type Gateway, type GatewayOptions, openGateway } from '../../gateway/open-gateway.ts';
import {
  announceGateway,
  findGateway,
  type RunningGateway,
  updateDigest,
  withdrawGateway,
} from '../../gateway/running-gateway.ts';
import type { Heddle } from '../../heddle.ts';
import { openHeddle } from '../../open-heddle.ts';
import { CONFIG_OPTION, type Command, type Input, readNumber, TRUST_OPTION } from '../command.ts';
import { configPath } from '../config-path.ts';
import { chooseProfile, PROFILE_OPTION } from '../input/choose-profile.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { noticeChanges } from '../print/notice-changes.ts';
import { ownCommand } from '../print/own-command.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { openOptions } from '../with-heddle.ts';

// Most gateways close within this time, without a notice.
const DRAIN_NOTICE_MS = 500;
// A command has proven its user. Without a gateway it may have arguments of this size.
const MAX_COMMAND_BYTES = 64 * 1024 * 1024;
const MAX_PORT = 65_535;
const PORTS_TO_TRY = 20;
const FILES = 'filesystem';

export const up: Command = {
  summary: 'Start the gateway: one MCP endpoint for all your servers.',
  usage: 'heddle up [--port N] [--profile PROFILE] [--config FILE] [--json]',
  examples: ['heddle up', 'heddle up --profile support', 'heddle up --port 0 --config heddle.json --json'],
  options: {
    port: {
      type: 'string',
      value: 'N',
      help: 'Listen on this port; 0 takes any free one (default: 7433 or the next free)',
    },
    profile: PROFILE_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: { type: 'boolean', help: 'When ready, print one line of JSON: url, token, pid' },
  },
  hasNoCaller: true,
  async run(input) {
    const signal = untilInterrupted();
    const heddle = await openHeddle({
      ...openOptions(input),
      watch: true,
      checkpoints: true,
      runs: true,
      onProblems: printProblems,
    });
    try {
      return await serveUntil(signal, heddle, input);
    } finally {
      await heddle.close();
    }
  },
};

async function serveUntil(signal: AbortSignal, heddle: Heddle, input: Input): Promise<number> {
  const config = heddle.configuration(localCaller());
  const home = homeFolder(process.env);
  const token = await gatewayToken(home, process.env.HEDDLE_TOKEN);
  const proofKey = randomBytes(32).toString('base64url');
  const port = readNumber('port', input.text('port'), MAX_PORT);
  const profile = chooseProfile(input, heddle);
  const gateway = await openOnFreePort(port, {
    ...config.settings.gateway,
    heddle,
    stateSecrets: await stateSecrets(home),
    authenticate: authenticator({ token, access: heddle.access }),
    profile,
    api: consoleApi(heddle, {
      callerOf: commandCaller({ user: localCaller(), proofKey, profile }),
      maxBodyBytes: Math.max(config.settings.gateway.maxBodyBytes, MAX_COMMAND_BYTES),
    }),
    proofKey,
    report: notice,
  });
  const { url } = gateway;
  const { pid } = process;
  const file = input.text('config');
  const note: RunningGateway = {
    ...{ url, token, pid, project: config.projectFolder, proofKey },
    ...(file !== undefined && { config: await configPath(file) }),
    digest: heddle.configurationDigest(localCaller(), proofKey),
  };
  let following: Promise<void> | undefined;
  try {
    const other = await findGateway(home, { report: notice });
    if (other) notice(otherGateway(other));
    else await announceGateway(home, note);
    if (input.flag('json')) process.stdout.write(`${JSON.stringify({ url, token, pid })}\n`);
    else welcome({ url, token, example: await exampleCall(heddle, input.text('config')) });
    following = followReloads(heddle, signal, () =>
      updateDigest(home, note, heddle.configurationDigest(localCaller(), proofKey)),
    );
    const by = { ...localCaller(), ...(profile !== undefined && { profile }) };
    // A store that fails for a moment ends the notices, never the gateway.
    void noticeChanges(heddle, { by, signal, configFile: file, approvals: !input.flag('json') }).catch((thrown) => {
      if (!signal.aborted) notice(`No further notices about servers: ${HeddleError.from(thrown).message}`);
    });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 0;
  } finally {
    await following; // A note written after its withdrawal would be stale.
    await withdrawGateway(home, pid); // First: closing may fail, and other commands must not use this gateway any more.
    const late = setTimeout(noticeDrain, DRAIN_NOTICE_MS);
    await gateway.close(DRAIN_MS);
    clearTimeout(late);
  }
}

const otherGateway = ({ url, project, config = project }: RunningGateway) =>
  `Another gateway is running at ${url} for ${config}. Commands use that one if they have its configuration, and never this one.`;

function noticeDrain(): void {
  const seconds = DRAIN_MS / 1000;
  notice(`Waiting up to ${seconds} s for calls in flight. Press Ctrl-C again to end them now.`);
}

/** Updates the note after each reload, and prints a notice: without it an earlier warning would look current. */
async function followReloads(heddle: Heddle, signal: AbortSignal, update: () => Promise<void>): Promise<void> {
  for await (const change of heddle.changes(localCaller(), signal)) {
    if (change.kind !== 'config') continue;
    await update().catch((thrown) => notice(`The note of this gateway cannot be written: ${thrown.message}`));
    const left = change.detail.problems === 0 ? '' : ' `heddle doctor` shows what is still wrong with it.';
    notice(`The configuration was read again and is in force.${left}`);
  }
}

/** Listens on the requested port, or fails. Without a request it tries up to 20 ports after the default and prints a notice. */
async function openOnFreePort(requested: number | undefined, options: GatewayOptions): Promise<Gateway> {
  const first = requested ?? options.port;
  const last = requested === undefined && first !== 0 ? Math.min(first + PORTS_TO_TRY, MAX_PORT) : first;
  for (let port = first; ; port++) {
    try {
      const gateway = await openGateway({ ...options, port });
      if (port !== first) notice(`Port ${first} is taken; using ${port}.`);
      return gateway;
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && port < last) continue;
      throw cannotListen(thrown, options.host, port);
    }
  }
}

function cannotListen(cause: unknown, host: string, port: number): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === undefined || HeddleError.is(cause)) return cause;
  const reason = code === 'EADDRINUSE' ? 'the port is taken' : code;
  return new HeddleError('CONFIG_INVALID', `The gateway cannot listen on ${host}:${port}: ${reason}.`, {
    cause,
    fix: 'Choose another with --port, or 0 for any free one.',
  });
}

/** Returns a call of the built-in file tools, unless they are switched off or another server has their name. */
async function exampleCall(heddle: Heddle, file: string | undefined): Promise<string> {
  const servers = await heddle.servers.list(localCaller());
  const isThere = servers.some(
    ({ name, scope, state }) => name === FILES && scope === 'builtin' && state !== 'disabled',
  );
  if (!isThere) return '';
  const { projectFolder, settings } = heddle.configuration(localCaller());
  const [folder = projectFolder] = settings.builtins.filesystem.allowedPaths;
  const example = existsSync(join(folder, 'README.md')) ? 'fs_read_file path=README.md' : 'fs_list_directory path=.';
  const option = file === undefined ? '' : ` ${quoteCommand(['--config', file])}`;
  return `\n  ${ownCommand(process.env).command} call ${FILES}.${example}${option}`;
}

interface Welcome {
  readonly url: string;
  readonly token: string;
  readonly example: string;
}

function welcome({ url, token, example }: Welcome): void {
  const { bold } = colors;
  const { command, install } = ownCommand(process.env);
  const request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  process.stdout.write(`${bold('Heddle is up.')}

  MCP endpoint  ${bold(url)}
  Token         ${bold(token)}

Try, in another terminal:
  ${command} list tools${example}
  curl -s ${url} -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${request}'
${install === undefined ? '' : `\nTo type heddle in every folder, run once:\n  ${install}\n`}
Ctrl-C stops it.
`);
}
