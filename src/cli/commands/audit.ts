import { formatHead } from '../../core/audit-head.ts';
import { HeddleError } from '../../core/errors.ts';
import type { AuditEntry, AuditSearch } from '../../core/records/audit-entry.ts';
import type { AuditApi } from '../../heddle.ts';
import { QUERY_OPTIONS, readQuery } from '../audit/audit-query.ts';
import { findCalls } from '../audit/audited-calls.ts';
import { exportAudit } from '../audit/export-audit.ts';
import { printCalls, printRecord, printRecords } from '../audit/print-records.ts';
import { verifyAudit } from '../audit/verify-audit.ts';
import { CONFIG_OPTION, type Command, type Input, JSON_OPTION, readNumber, TRUST_OPTION } from '../command.ts';
import { askNo, canAsk } from '../input/ask.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readTime } from '../input/read-time.ts';
import { unknownVerb } from '../input/unknown-verb.ts';
import { localCaller } from '../local-caller.ts';
import { lowerPriority } from '../lower-priority.ts';
import { printJson } from '../print/print-json.ts';
import { notice, print } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { openOptions, withHeddle } from '../with-heddle.ts';

type Act = (audit: AuditApi, words: readonly string[], input: Input) => Promise<number>;

const VERBS: Readonly<Record<string, Act>> = {
  search,
  show,
  export: exportAudit,
  verify: verifyAudit,
  head,
  prune,
};
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;

export const manageAudit: Command = {
  summary: 'Search, export and verify the record of every call, approval and administrative act.',
  usage:
    'heddle audit search [FIELD=VALUE …] | show CALL | export [FIELD=VALUE …] [--format csv] | verify [FILE] [--head LINE] | head | prune --before 90d',
  notes: [
    'A FIELD is callId, caller, name, phase, via, or any field of the detail: outcome, decision, rule, arguments.path, …',
  ],
  examples: [
    'heddle audit search caller=key:ci outcome=PERMISSION_DENIED --since 24h',
    'heddle audit show 01k9…',
    'heddle audit export --format csv --since 30d > audit.csv',
    'heddle audit head >> /mnt/elsewhere/heads',
    'heddle audit verify --head "$(tail -1 /mnt/elsewhere/heads)"',
  ],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    ...QUERY_OPTIONS,
    limit: { type: 'string', value: 'N', help: `Show at most N calls or records (default: ${DEFAULT_LIMIT})` },
    records: { type: 'boolean', help: 'Show every record instead of one row per call, as --json does' },
    format: { type: 'string', value: 'FORMAT', help: 'The format of an export: jsonl (default) or csv' },
    output: { type: 'string', value: 'FILE', help: 'Write the export to this file' },
    head: { type: 'string', value: 'LINE', help: 'A line of `heddle audit head` that was kept elsewhere' },
    before: { type: 'string', value: 'TIME', help: 'Remove the records before this time: 90d or 2026-08-01' },
    yes: { type: 'boolean', help: 'Prune without being asked' },
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    json: JSON_OPTION,
  },
  async run(input) {
    const [verb = '', ...words] = input.positionals;
    const act = Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined;
    if (!act || input.rest !== undefined) throw unknownVerb('audit', verb, Object.keys(VERBS));
    lowerPriority();
    // An export is verified on any machine: nothing is read from the store or written to it.
    const isFile = verb === 'verify' && words.length > 0;
    const store = isFile ? { config: false as const, store: ':memory:' } : openOptions(input);
    const options = { ...store, autoConnect: false, onProblems: printFileProblems };
    return withHeddle(options, ({ audit }) => act(audit, words, input));
  },
};

async function search(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  const limit = readNumber('limit', input.text('limit'), MAX_LIMIT) ?? DEFAULT_LIMIT;
  const query = readQuery(words, input);
  const isByRecord = input.flag('records') || input.flag('json');
  const noun = isByRecord ? 'records' : 'calls';
  const hasMore = isByRecord
    ? await showRecords(audit, { ...query, limit: limit + 1 }, input)
    : await showCalls(audit, query, limit);
  if (hasMore) notice(`There are more ${noun}; --limit ${limit * 10} shows more of them.`);
  return 0;
}

async function showCalls(audit: AuditApi, query: AuditSearch, limit: number): Promise<boolean> {
  const { calls, hasMore } = await findCalls(audit, query, limit);
  if (calls.length === 0) notice('No record matches.');
  else printCalls(calls);
  return hasMore;
}

async function showRecords(audit: AuditApi, query: AuditSearch & { readonly limit: number }, input: Input) {
  const records = await collect(audit, query);
  const shown = records.slice(0, query.limit - 1);
  if (input.flag('json')) printJson(shown);
  else if (shown.length === 0) notice('No record matches.');
  else printRecords(shown);
  return records.length > shown.length;
}

async function show(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  const [callId, ...more] = words;
  if (callId === undefined || more.length > 0) {
    throw new HeddleError('USAGE_INVALID', '`heddle audit show` takes the id of one call.');
  }
  const records = (await collect(audit, { callId })).toReversed();
  if (records.length === 0) {
    throw new HeddleError('NAME_UNKNOWN', `There is no record of the call ${callId}.`, {
      fix: 'Run `heddle audit search` to see the newest calls with their ids.',
    });
  }
  if (input.flag('json')) printJson(records);
  else for (const record of records) printRecord(record);
  return 0;
}

async function collect(audit: AuditApi, query: Parameters<AuditApi['search']>[1]): Promise<readonly AuditEntry[]> {
  const found: AuditEntry[] = [];
  for await (const batch of audit.search(localCaller(), query, untilInterrupted())) found.push(...batch);
  return found;
}

async function head(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  if (words.length > 0) throw new HeddleError('USAGE_INVALID', '`heddle audit head` takes no argument.');
  const { segment, sequence, hash } = await audit.head(localCaller());
  if (input.flag('json')) printJson({ segment, sequence, hash });
  else print(formatHead({ segment, sequence, hash }));
  return 0;
}

async function prune(audit: AuditApi, words: readonly string[], input: Input): Promise<number> {
  const text = input.text('before');
  const before = readTime('before', text, Date.now());
  if (before === undefined || words.length > 0) {
    throw new HeddleError('USAGE_INVALID', '`heddle audit prune` needs --before, such as --before 90d.');
  }
  const date = new Date(before).toISOString();
  if (!input.flag('yes') && !(canAsk() && (await askNo(`Remove all records before ${date}?`)))) {
    notice(`Nothing was removed.${canAsk() ? '' : ' Pass --yes to remove the records.'}`);
    return 2;
  }
  const removed = await audit.prune(localCaller(), before);
  if (input.flag('json')) printJson({ removed, before });
  else print(`${removed} ${removed === 1 ? 'record' : 'records'} before ${date} removed.`);
  return 0;
}
