import type { Config } from '../../config/config.ts';
import { configDigest } from '../../config/config-digest.ts';
import { readConfig } from '../../config/read-config.ts';
import { type HeddleError, UpstreamError } from '../../core/errors.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { connectToGateway, type RunningGateway, readGatewayNote } from '../../gateway/running-gateway.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import type { Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { configPath } from '../config-path.ts';
import { notice } from '../print/print-line.ts';
import { gatewayClient } from './gateway-client.ts';
import { type GivenKey, unknownApiKey } from './given-key.ts';
import { remoteHeddle } from './remote-heddle.ts';

export interface RunningHeddle {
  readonly heddle: CommandHeddle;
  close(): void;
}

/**
 * Connects to the running gateway if it has the configuration that this command would read. Returns undefined
 * otherwise; nothing has been sent then. With `--verbose` a notice says which of the two, and why. With an API key it throws
 * instead: a command that was given one never acts as the user.
 */
export async function openRunning(
  input: Input,
  options: HeddleOptions,
  key?: GivenKey,
): Promise<RunningHeddle | undefined> {
  const say = (line: string) => input.flag('verbose') && notice(line);
  const gateway = await readGatewayNote(homeFolder(process.env));
  const { onProblems, user, listWaitMs = Number.POSITIVE_INFINITY } = options;
  const found = gateway && (await compare(gateway, options));
  if (gateway && found && typeof found !== 'string') {
    const connection = await connectToGateway(gateway, { report: notice });
    if (connection) {
      if (key && !isApiKey(key, gateway)) {
        connection.close();
        throw unknownApiKey(key);
      }
      say(`Using the gateway at ${gateway.url} (pid ${gateway.pid})${key ? ' with an API key' : ''}.`);
      onProblems?.(found.problems);
      const client = gatewayClient(gateway, connection, key);
      const remote = { config: found, wait: listWaitMs > 0, capabilities: user?.capabilities };
      return { heddle: remoteHeddle(client, remote), close: client.close };
    }
  }
  const reason = typeof found === 'string' ? found : NO_GATEWAY;
  if (key) throw noGateway(reason, gateway);
  say(`${reason} Servers are started here.`);
  return undefined;
}

const NO_GATEWAY = 'No gateway is running.';

/** The token of the gateway is no key: with it the command would act as the user. */
const isApiKey = ({ text }: GivenKey, { token }: RunningGateway) => text.startsWith('hk_') && text !== token;

const OWN_UP = '`heddle up` in this folder, with the same --config if there is one';

/** Returns the error of a command with an API key that no gateway can serve. */
const noGateway = (reason: string, other: RunningGateway | undefined): HeddleError =>
  new UpstreamError('UPSTREAM_UNREACHABLE', `${reason} An API key acts only through a gateway of this configuration.`, {
    delivered: 'no',
    fix:
      other === undefined || reason === NO_GATEWAY
        ? `Start one with ${OWN_UP}.`
        : `Stop that one (\`kill ${other.pid}\`), since commands use only the gateway that was started first. Then start one with ${OWN_UP}.`,
  });

/** Returns the configuration of this command if it is that of the gateway, else the difference as a sentence. */
async function compare(
  { url, pid, project, config: file, proofKey, digest }: RunningGateway,
  { configFile, trustProject }: HeddleOptions,
): Promise<Config | string> {
  const other = `The gateway at ${url} (pid ${pid}) has another configuration:`;
  const own = configFile === undefined ? undefined : await configPath(configFile);
  if (own !== file) return `${other} ${file === undefined ? `that of ${project}` : file}.`;
  const config = await readConfig({
    ...(configFile !== undefined && { configFile }),
    ...(trustProject && { trustProject }),
  });
  if (own === undefined && config.projectFolder !== project) return `${other} that of ${project}.`;
  if (configDigest(config, proofKey) === digest) return config;
  return `${other} a file, a variable of this shell, a trust decision or the version differs.`;
}
