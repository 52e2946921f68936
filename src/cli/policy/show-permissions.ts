import type { Config } from '../../config/config.ts';
import { type PermissionRule, rulesInForce } from '../../config/permission-rules.ts';
import { readConfig } from '../../config/read-config.ts';
import type { Settings } from '../../config/schema/schema.ts';
import { NO_CAPABILITIES } from '../../core/call/client-capabilities.ts';
import type { EntryPermission, PolicySubject } from '../../core/records/policy.ts';
import type { Input } from '../command.ts';
import { localCaller, terminalUser } from '../local-caller.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printProblems } from '../print/print-problems.ts';
import { printTable } from '../print/print-table.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

/** Prints the effect of the rules on each known entry, for the caller of `--caller` and `--profile`. */
export async function showPermissions(input: Input): Promise<number> {
  const subject = policySubject(input.text('caller'), input.text('profile'));
  const isOther = subject.caller !== undefined && subject.caller !== localCaller().id;
  // The client of another caller may have no capabilities.
  const user = isOther ? { ...terminalUser(), capabilities: NO_CAPABILITIES } : terminalUser();
  // No server is started: the lists of earlier connections are known.
  const options = { ...openOptions(input), autoConnect: false, user };
  const { permissions, config, unknown } = await withHeddle(options, async (heddle) => {
    const by = localCaller();
    await heddle.catalog.list(by, { waitMs: 0, limit: 1 }); // Makes the built-in tools known.
    const servers = await heddle.servers.list(by);
    return {
      permissions: await heddle.policy.permissions(by, subject),
      config: heddle.configuration(by),
      unknown: servers.flatMap(({ name, state, tools }) => (state === 'pending' && tools === undefined ? name : [])),
    };
  });
  const { mode } = config.settings;
  if (input.flag('json')) {
    printJson({ ...subject, mode, permissions, unknownServers: unknown });
    return 0;
  }
  if (permissions.length > 0) printColumns(COLUMNS, permissions);
  noticeMode(mode, permissions.length === 0 ? 'No tool is known. ' : '');
  for (const name of unknown) {
    notice(
      isOther
        ? `${name} has not listed its tools to a client without capabilities. The gateway has it list them when a client does.`
        : `${name} has not listed its tools here. \`heddle list tools\` connects it.`,
    );
  }
  printProblems(config.problems.filter(({ server }) => server === undefined));
  return 0;
}

/** Returns the caller that options name. */
export const policySubject = (caller: string | undefined, profile: string | undefined): PolicySubject => ({
  ...(caller !== undefined && { caller }),
  ...(profile !== undefined && { profile }),
});

const COLUMNS: readonly PrintedColumn<EntryPermission>[] = [
  { title: 'TOOL', of: ({ name }) => name },
  { title: 'KIND', of: ({ kind }) => (kind === 'tool' ? '' : kind), optional: true },
  { title: 'EFFECT', of: ({ effect }) => effect },
  { title: 'RULE', of: ({ rule }) => rule },
  { title: 'FILE', of: ({ at }) => at?.file ?? '-' },
  { title: 'LINE', of: ({ at }) => (at ? String(at.line) : '-'), right: true },
  { title: 'ALSO BY CALL', of: ({ depends = [] }) => depends.join(', '), optional: true },
];

const MODES: Readonly<Record<Settings['mode'], string>> = {
  guarded: 'tools that are destructive, of high risk or that require approval ask, and so do sensitive arguments',
  strict: 'every external tool asks',
  open: 'nothing asks',
};

const noticeMode = (mode: Settings['mode'], start: string) =>
  notice(`${start}Where no rule matches, mode ${mode} decides: ${MODES[mode]}.`);

/** Prints the rules of `permissions`, of server entries and of profiles. */
export async function showRules(input: Input): Promise<number> {
  const config: Config = await readConfig(openOptions(input));
  const { mode } = config.settings;
  const rules = await rulesInForce(config);
  if (input.flag('json')) {
    printJson({ mode, rules });
    return 0;
  }
  if (rules.length > 0) printTable(['EFFECT', 'RULE', 'SETTING', 'FROM'], rules.map(toCells));
  noticeMode(mode, rules.length === 0 ? 'There are no rules. ' : '');
  printProblems(config.problems.filter(({ server }) => server === undefined));
  return 0;
}

const toCells = ({ effect, rule, key, scope, file, line }: PermissionRule) => [
  effect,
  rule,
  key,
  file === undefined ? scope : `${scope} ${file}:${line}`,
];
