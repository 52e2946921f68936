import colors from 'picocolors';
import { type CallStats, failedCalls } from '../../core/records/call-stats.ts';
import type { ServerStatus } from '../../core/records/server-status.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { VERSION } from '../../core/version.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { findGateway } from '../../gateway/running-gateway.ts';
import { CONFIG_OPTION, type Command, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { stateOf } from '../print/state-label.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export const status: Command = {
  summary: 'Show how things are.',
  usage: 'heddle [--json]',
  examples: ['heddle', 'heddle --json'],
  options: { config: CONFIG_OPTION, 'trust-project': TRUST_OPTION, json: JSON_OPTION },
  async run(input) {
    const by = localCaller();
    const [gateway, [config, servers, stats]] = await Promise.all([
      findGateway(homeFolder(process.env), { report: notice }),
      withHeddle(openOptions(input), (heddle) =>
        Promise.all([heddle.configuration(by), heddle.servers.list(by), heddle.traces.stats(by, Date.now() - DAY_MS)]),
      ),
    ]);
    const running = gateway && { url: gateway.url, pid: gateway.pid, project: gateway.project };
    if (input.flag('json')) printJson({ version: VERSION, gateway: running ?? null, servers, calls: stats });
    else {
      const files = config.files.filter(({ state }) => state === 'found').map(({ file }) => file);
      process.stdout.write(
        [
          `${colors.bold('heddle')} ${VERSION}`,
          `  gateway  ${running ? `${oneLine(`${running.url} (pid ${running.pid}, ${running.project})`)}` : 'not running; start it with: heddle up'}`,
          `  config   ${oneLine(files.join(', ')) || 'none found; defaults are in force'}`,
          `  servers  ${servers.map(named).join(', ') || 'none'}`,
          `  calls    ${summary(stats)}`,
          '',
          'Try: heddle list tools · heddle doctor · heddle --help',
          '',
        ].join('\n'),
      );
      printProblems(config.problems);
    }
    return 0;
  },
};

const named = (server: ServerStatus) => {
  const { name, scope, state } = server;
  return oneLine(`${name} (${scope}${state === 'failed' ? `, ${stateOf(server)}` : ''})`);
};

function summary(stats: readonly CallStats[]): string {
  const sum = (pick: (one: CallStats) => number) => stats.reduce((total, one) => total + pick(one), 0);
  return `${sum((one) => one.totalCalls)} in the last 24 hours, ${sum(failedCalls)} failed`;
}
