import { randomBytes } from 'node:crypto';
import colors from 'picocolors';
import { readConfig } from '../../config/read-config.ts';
import { consoleApi } from '../../console/api.ts';
import { HeddleError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { authenticator } from '../../gateway/auth/authenticate.ts';
import { gatewayToken } from '../../gateway/auth/gateway-token.ts';
import { stateSecrets } from '../../gateway/continuations/state-secrets.ts';
import { DRAIN_MS } from '../../gateway/in-flight.ts';
import { type Gateway, type GatewayOptions, openGateway } from '../../gateway/open-gateway.ts';
import { announceGateway, findGateway, withdrawGateway } from '../../gateway/running-gateway.ts';
import type { Heddle } from '../../heddle.ts';
import { openHeddle } from '../../open-heddle.ts';
import { CONFIG_OPTION, type Command, type Input, readNumber, TRUST_OPTION } from '../command.ts';
import { chooseProfile, PROFILE_OPTION } from '../input/choose-profile.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printProblems } from '../print/print-problems.ts';
import { say } from '../print/say.ts';
import { openOptions } from '../with-heddle.ts';

// Most gateways are gone before anybody would wonder.
const SOON_MS = 500;
const MAX_PORT = 65_535;
const PORTS_TO_TRY = 20;

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
  async run(input) {
    const signal = untilInterrupted();
    const heddle = await openHeddle({ ...openOptions(input), watch: true, onProblems: printProblems });
    try {
      return await serveUntil(signal, heddle, input);
    } finally {
      await heddle.close();
    }
  },
};

async function serveUntil(signal: AbortSignal, heddle: Heddle, input: Input): Promise<number> {
  const config = await readConfig(openOptions(input));
  const home = homeFolder(process.env);
  const token = await gatewayToken(home, process.env.HEDDLE_TOKEN);
  const proofKey = randomBytes(32).toString('base64url');
  const asked = readNumber('port', input.text('port'), MAX_PORT);
  const gateway = await openOnFreePort(asked, {
    ...config.settings.gateway,
    heddle,
    stateSecrets: await stateSecrets(home),
    authenticate: authenticator({ token, access: heddle.access }),
    profile: chooseProfile(input, heddle),
    api: consoleApi(heddle),
    proofKey,
  });
  const { url } = gateway;
  const { pid } = process;
  try {
    const other = await findGateway(home, { report: say });
    if (other) say(`Another gateway runs already, at ${other.url}; other commands go on asking that one.`);
    else await announceGateway(home, { url, token, pid, project: config.projectFolder, proofKey });
    if (input.flag('json')) process.stdout.write(`${JSON.stringify({ url, token, pid })}\n`);
    else welcome(url, token);
    void tellReloads(heddle, signal);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return 0;
  } finally {
    await withdrawGateway(home, pid); // First: closing may fail, and nobody is to be sent here any more.
    const late = setTimeout(sayThatItWaits, SOON_MS);
    await gateway.close(DRAIN_MS);
    clearTimeout(late);
  }
}

function sayThatItWaits(): void {
  const seconds = DRAIN_MS / 1000;
  say(`Waiting up to ${seconds} s for calls under way. Ctrl-C once more ends them now.`);
}

/** Says when what was changed in a file has taken effect: without it, the last word might be an old warning. */
async function tellReloads(heddle: Heddle, signal: AbortSignal): Promise<void> {
  for await (const { kind, detail } of heddle.changes(localCaller(), signal)) {
    if (kind !== 'config') continue;
    const left = detail.problems === 0 ? '' : ' `heddle doctor` shows what is still wrong with it.';
    say(`The configuration was read again and is in force.${left}`);
  }
}

/** A port that was asked for is that one or an error; the default moves on to the next free one, and says so. */
async function openOnFreePort(asked: number | undefined, options: GatewayOptions): Promise<Gateway> {
  const first = asked ?? options.port;
  const last = asked === undefined && first !== 0 ? Math.min(first + PORTS_TO_TRY, MAX_PORT) : first;
  for (let port = first; ; port++) {
    try {
      const gateway = await openGateway({ ...options, port });
      if (port !== first) say(`Port ${first} is taken; using ${port}.`);
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
  const why = code === 'EADDRINUSE' ? 'the port is taken' : code;
  return new HeddleError('CONFIG_INVALID', `The gateway cannot listen on ${host}:${port}: ${why}.`, {
    cause,
    fix: 'Choose another with --port, or 0 for any free one.',
  });
}

function welcome(url: string, token: string): void {
  const { bold } = colors;
  const request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  process.stdout.write(`${bold('Heddle is up.')}

  MCP endpoint  ${bold(url)}
  Token         ${bold(token)}

Try, in another terminal:
  npx heddle list tools
  npx heddle call filesystem.fs_read_file path=README.md
  curl -s ${url} -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${request}'

Ctrl-C stops it.
`);
}
