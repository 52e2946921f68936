import { HeddleError } from '../../core/errors.ts';
import type { Hit } from '../../core/records/listing.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, JSON_OPTION, readNumber, TRUST_OPTION } from '../command.ts';
import { localCaller } from '../local-caller.ts';
import {
  catalogOptions,
  FRESH_OPTION,
  findMissing,
  missingRows,
  NO_WAIT_OPTION,
  printMissing,
  whileStarting,
} from '../print/missing-servers.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { printFileProblems } from '../print/print-problems.ts';
import { withRunningHeddle } from '../with-heddle.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;

const COLUMNS: readonly PrintedColumn<Hit>[] = [
  { title: 'NAME', of: ({ target }) => target.publicName },
  { title: 'BY', of: ({ reason }) => reason },
  { title: 'FLAGS', of: ({ target }) => target.flags.join(', '), optional: true },
  {
    title: 'DESCRIPTION',
    of: ({ target: { definition } }) => (typeof definition.description === 'string' ? definition.description : ''),
  },
];

export const search: Command = {
  summary: 'Find tools by words: of their names first, then of their descriptions.',
  usage: 'heddle search <words …> [--limit N] [--no-wait]',
  examples: ['heddle search read file', 'heddle search create issue --limit 3 --json'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    limit: { type: 'string', value: 'N', help: `How many to show at most (default: ${DEFAULT_LIMIT})` },
    'no-wait': NO_WAIT_OPTION,
    fresh: FRESH_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  async run(input) {
    const text = input.positionals.join(' ');
    if (text.trim() === '') throw new HeddleError('USAGE_INVALID', 'Nothing to search for was given.');
    const limit = readNumber('limit', input.text('limit'), MAX_LIMIT) ?? DEFAULT_LIMIT;
    const by = localCaller();
    const options = { ...catalogOptions(input), onProblems: printFileProblems };
    const [hits, missing] = await withRunningHeddle(input, options, async (heddle) => [
      await whileStarting(heddle, by, () => heddle.catalog.search(by, { text, limit })),
      await findMissing(heddle, by),
    ]);
    if (input.flag('json')) printJson([...hits.map(toRow), ...missingRows(missing)]);
    else if (hits.length > 0) printColumns(COLUMNS, hits);
    else notice('No tool matches; `heddle list tools` shows all.');
    printMissing(missing);
    return 0;
  },
};

function toRow({ target, score, reason }: Hit): object {
  const { publicName, kind, servers, definition, facts, flags } = target;
  const { title, description } = definition;
  return { name: publicName, kind, score, reason, servers, title, description, facts, flags };
}
