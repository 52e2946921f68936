import { readConfig } from '../../config/read-config.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { CONFIG_OPTION, type Command, GATEWAY_OPTIONS, type Input, JSON_OPTION, TRUST_OPTION } from '../command.ts';
import { FRESH_OPTION, NO_WAIT_OPTION } from '../print/missing-servers.ts';
import { listCatalog, listCategories } from './list-catalog.ts';
import { listServers } from './list-servers.ts';

const OWN_OPTIONS = ['check', 'server', 'category', 'header', 'no-wait', 'fresh', 'signatures'] as const;

interface List {
  readonly run: (input: Input) => Promise<number>;
  /** The options that this list accepts. */
  readonly takes: readonly (typeof OWN_OPTIONS)[number][];
}

const inCatalog = (kind: Parameters<typeof listCatalog>[0]): List => ({
  run: (input) => listCatalog(kind, input),
  takes: ['server', 'category', 'header', 'no-wait', 'fresh'],
});

const LISTS: Readonly<Record<string, List>> = {
  servers: { run: listServers, takes: ['check', 'fresh'] },
  tools: { ...inCatalog('tool'), takes: ['server', 'category', 'header', 'no-wait', 'fresh', 'signatures'] },
  resources: inCatalog('resource'),
  templates: inCatalog('template'),
  prompts: inCatalog('prompt'),
  categories: { run: listCategories, takes: ['no-wait', 'fresh'] },
  workflows: { run: async (input) => (await import('./list-workflows.ts')).listWorkflows(input), takes: [] },
};

const PLURALS: Readonly<Record<string, string>> = {
  server: 'servers',
  tool: 'tools',
  resource: 'resources',
  template: 'templates',
  prompt: 'prompts',
  category: 'categories',
  workflow: 'workflows',
};

export const list: Command = {
  summary: 'List servers (starts none), or what they have (starts only servers never seen before).',
  usage:
    'heddle list [servers] [--check [--fresh]] | heddle list tools|resources|templates|prompts [--server S | <url> | -- <command …>] [--category C] [--no-wait | --fresh] | heddle list categories [--no-wait | --fresh] | heddle list workflows',
  examples: [
    'heddle list tools',
    'heddle list tools --server github --category issues --json',
    'heddle list tools --signatures',
    'heddle list tools http://localhost:3001/mcp',
    'heddle list tools -- npx -y @modelcontextprotocol/server-everything',
    'heddle list servers --check --json',
  ],
  maxPositionals: 2,
  options: {
    check: {
      type: 'boolean',
      help: 'Connect every server at once, print each as it is checked; exits with 1 if one does not work',
    },
    server: { type: 'string', value: 'NAME', help: 'Only what this server has' },
    category: { type: 'string', value: 'NAME', help: 'Only what is in this category' },
    header: { type: 'string', value: "'NAME: VALUE'", multiple: true, help: 'Sent to the URL; may be repeated' },
    signatures: { type: 'boolean', help: 'Show each tool as a function with the types of its arguments' },
    'no-wait': NO_WAIT_OPTION,
    fresh: FRESH_OPTION,
    config: CONFIG_OPTION,
    'trust-project': TRUST_OPTION,
    ...GATEWAY_OPTIONS,
    json: JSON_OPTION,
  },
  async run(input) {
    const [word = 'servers'] = input.positionals;
    const what = PLURALS[word] ?? word;
    const known = Object.hasOwn(LISTS, what) ? LISTS[what] : undefined;
    if (!known) throw await unknownList(word);
    for (const option of OWN_OPTIONS) {
      const isSet = input.flag(option) || input.text(option) !== undefined || input.texts(option).length > 0;
      if (isSet && !known.takes.includes(option)) {
        throw new HeddleError('USAGE_INVALID', `--${option} is not an option of \`heddle list ${what}\`.`);
      }
    }
    const extra = input.positionals[1] ?? (input.rest && '--');
    if (extra !== undefined && !known.takes.includes('header')) {
      throw new HeddleError('USAGE_INVALID', `\`heddle list ${what}\` takes no ${extra}.`);
    }
    return known.run(input);
  },
};

async function unknownList(word: string): Promise<HeddleError> {
  const isServer = (await readConfig()).servers.has(word);
  const meant = isServer ? `tools --server ${word}` : closest(word, Object.keys(LISTS));
  return new HeddleError('USAGE_INVALID', `${word} is ${isServer ? 'a server' : 'nothing that can be listed'}.`, {
    fix: meant ? `Did you mean \`heddle list ${meant}\`?` : `Use one of ${Object.keys(LISTS).join(', ')}.`,
  });
}
