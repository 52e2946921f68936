import type { Problem } from '../../config/config.ts';
import type { Caller, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { ServerStatus } from '../../core/server-status.ts';
import { askGateway, findGateway } from '../../gateway/running-gateway.ts';
import type { Heddle } from '../../heddle.ts';
import { homeFolder, readConfig } from '../../open-heddle.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { inert } from '../inert.ts';
import { untilInterrupted } from '../interrupt.ts';
import { localCaller } from '../local-caller.ts';
import { printJson } from '../print-json.ts';
import { printFileProblems } from '../print-problems.ts';
import { printTable } from '../print-table.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

export const list: Command = {
  summary: 'List servers (starts none) or tools (starts only servers never seen before).',
  usage: 'heddle list servers [--check] | heddle list tools',
  examples: ['heddle list tools', 'heddle list servers --check --json'],
  words: 1,
  options: {
    check: { type: 'boolean', help: 'Connect every server first, to see whether it works' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [what, ...more] = input.positionals;
    if (more.length === 0 && what === 'servers') return listServers(input);
    if (more.length === 0 && what === 'tools') return listTools(input);
    throw new HeddleError('USAGE_INVALID', 'Say what to list.', {
      fix: 'Run `heddle list servers` or `heddle list tools`.',
    });
  },
};

async function listServers(input: Input): Promise<number> {
  const signal = untilInterrupted();
  let problems: readonly Problem[] = [];
  const onProblems = (found: readonly Problem[]) => {
    problems = found;
  };
  const live = input.flag('check') ? undefined : await liveServers(input, onProblems);
  const options = { ...openOptions(input), onProblems };
  const servers = live ?? (await withHeddle(options, (heddle) => ownServers(heddle, input, signal)));
  if (input.flag('json')) printJson(servers);
  else {
    const rows = servers.map((one) => [one.name, stateOf(one), one.transport, one.scope, String(one.tools ?? '?')]);
    printTable(['SERVER', 'STATE', 'TRANSPORT', 'SCOPE', 'TOOLS'], rows);
    printReasons(servers);
    printFileProblems(problems);
  }
  return 0;
}

async function ownServers(heddle: Heddle, input: Input, signal: AbortSignal): Promise<readonly ServerStatus[]> {
  const by = localCaller();
  const known = await heddle.servers.list(by);
  if (!input.flag('check')) return known;
  return Promise.all(known.map(({ name }) => heddle.servers.connect(by, name, signal)));
}

/** What a running gateway of this project says; it alone knows what is connected now. */
async function liveServers(
  input: Input,
  onProblems: (problems: readonly Problem[]) => void,
): Promise<readonly ServerStatus[] | undefined> {
  if (input.text('config') !== undefined) return undefined;
  const gateway = await findGateway(homeFolder(process.env));
  if (!gateway) return undefined;
  const { projectFolder, problems } = await readConfig();
  const answer = gateway.project === projectFolder ? await askGateway(gateway, '/api/servers') : undefined;
  if (!isObject(answer) || !Array.isArray(answer.servers)) return undefined;
  onProblems(problems);
  return answer.servers as unknown as ServerStatus[];
}

function stateOf({ state, attempt: [attempt, of], retryAt, health }: ServerStatus): string {
  if (state === 'connected' && health === 'unhealthy') return 'connected, unhealthy';
  if (state !== 'pending') return state;
  if (attempt === 0) return 'not started';
  return `${retryAt === undefined ? 'connecting' : 'waiting'}, attempt ${attempt} of ${of}`;
}

/** Under the table, where there is room for a whole sentence. */
function printReasons(servers: readonly ServerStatus[]): void {
  for (const { name, state, reason, fix } of servers) {
    if (!reason || state === 'disabled') continue;
    process.stdout.write(`\n${name}: ${inert(reason)}\n${fix ? `  fix: ${inert(fix)}\n` : ''}`);
  }
}

async function listTools(input: Input): Promise<number> {
  const by = localCaller();
  return withHeddle({ ...openOptions(input), onProblems: printFileProblems }, async (heddle) => {
    const tools = await allTools(heddle, by);
    if (input.flag('json')) printJson(tools.map(toRow));
    else
      printTable(
        ['TOOL', 'DESCRIPTION'],
        tools.map((tool) => [tool.publicName, inBrief(tool)]),
      );
    await tellMissing(heddle, by);
    return 0;
  });
}

async function allTools(heddle: Heddle, by: Caller): Promise<readonly Target[]> {
  const tools: Target[] = [];
  let cursor: string | undefined;
  do {
    const page = await heddle.catalog.list(by, { includeInvalid: true, ...(cursor !== undefined && { cursor }) });
    tools.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return tools;
}

function toRow({ publicName, servers, definition, facts, flags, invalid }: Target): object {
  const { title, description, inputSchema } = definition;
  return { name: publicName, servers, title, description, facts, flags, invalid, inputSchema };
}

function inBrief({ definition, flags, invalid }: Target): string {
  const warnings = [...(invalid === undefined ? [] : [`invalid: ${invalid}`]), ...flags].map((one) => `[${one}] `);
  return `${warnings.join('')}${definition.description ?? ''}`;
}

/** Whose tools are not in the list, and why. */
async function tellMissing(heddle: Heddle, by: Caller): Promise<void> {
  for (const { name, state, reason, fix, attempt } of await heddle.servers.list(by)) {
    if (state === 'failed' || state === 'needs-auth')
      process.stderr.write(`${inert(`${name} ${state}: ${reason}\n  fix: ${fix}`)}\n`);
    if (state === 'pending' && attempt[0] > 0)
      process.stderr.write(`${name} is still connecting; its tools are not listed.\n`);
  }
}
