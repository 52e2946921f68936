import type { Config } from '../../config/config.ts';
import { configDigest } from '../../config/config-digest.ts';
import { readConfig } from '../../config/read-config.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { connectToGateway, type RunningGateway, readGatewayNote } from '../../gateway/running-gateway.ts';
import type { HeddleOptions } from '../../open-heddle.ts';
import type { Input } from '../command.ts';
import type { CommandHeddle } from '../command-heddle.ts';
import { configPath } from '../config-path.ts';
import { notice } from '../print/print-line.ts';
import { gatewayClient } from './gateway-client.ts';
import { remoteHeddle } from './remote-heddle.ts';

export interface RunningHeddle {
  readonly heddle: CommandHeddle;
  close(): void;
}

/**
 * Connects to the running gateway if it has the configuration that this command would read. Returns undefined
 * otherwise; nothing has been sent then. With `--verbose` a notice says which of the two, and why.
 */
export async function openRunning(input: Input, options: HeddleOptions): Promise<RunningHeddle | undefined> {
  const say = (line: string) => input.flag('verbose') && notice(line);
  const gateway = await readGatewayNote(homeFolder(process.env));
  const { onProblems, user, listWaitMs = Number.POSITIVE_INFINITY } = options;
  const found = gateway && (await compare(gateway, options));
  if (gateway && found && typeof found !== 'string') {
    const connection = await connectToGateway(gateway, { report: notice });
    if (connection) {
      say(`Using the gateway at ${gateway.url} (pid ${gateway.pid}).`);
      onProblems?.(found.problems);
      const client = gatewayClient(gateway, connection);
      const remote = { config: found, wait: listWaitMs > 0, capabilities: user?.capabilities };
      return { heddle: remoteHeddle(client, remote), close: client.close };
    }
  }
  say(`${typeof found === 'string' ? found : 'No gateway is running.'} Servers are started here.`);
  return undefined;
}

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
