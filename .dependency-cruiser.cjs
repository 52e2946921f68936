// The import table of ARCHITECTURE.md, as rules. Calls run the way imports point.
const MAY_IMPORT = {
  core: [],
  wire: ['core'],
  schema: ['core'],
  cel: ['core'],
  egress: ['core'],
  process: ['core'],
  translate: ['core'],
  files: ['core'],
  // `${secret:name}` in a file is resolved while the file is read.
  config: ['core', 'wire', 'files', 'schema', 'egress', 'store/secrets'],
  store: ['core', 'files'],
  upstream: ['core', 'files', 'config', 'store', 'wire', 'schema', 'egress', 'process'],
  catalog: ['core', 'config', 'store', 'upstream', 'schema', 'translate'],
  govern: ['core', 'config', 'store', 'schema', 'cel', 'egress', 'process'],
  workflow: ['core', 'store', 'schema', 'cel'],
  agent: ['core', 'store', 'schema', 'translate', 'egress'],
  builtin: ['core', 'wire', 'schema'],
  'heddle.ts': ['core', 'config'],
  gateway: ['core', 'files', 'config', 'wire', 'egress', 'heddle.ts'],
  console: ['core', 'config', 'wire', 'egress', 'heddle.ts'],
  adapters: ['core', 'translate', 'heddle.ts'],
  // What open-heddle.ts is made of: parts put together, and no face.
  compose: [
    ...['core', 'files', 'config', 'store', 'process', 'upstream', 'catalog', 'govern', 'builtin', 'schema', 'egress'],
    'heddle.ts',
  ],
  // What index.ts is made of: the library as a face.
  library: ['core', 'config', 'wire', 'heddle.ts', 'open-heddle.ts'],
  cli: ['core', 'files', 'config', 'heddle.ts', 'open-heddle.ts', 'gateway', 'console', 'builtin'],
};

const UNTESTED = '(\\.test|/fixtures)\\.ts$';
const folder = (name) => (name.endsWith('.ts') ? `^src/${name.replace('.', '\\.')}$` : `^src/${name}/`);

const table = Object.entries(MAY_IMPORT).map(([name, allowed]) => ({
  name: `${name.replace('.ts', '')}-imports`,
  comment: `${name} may import ${allowed.join(', ') || 'nothing of ours'}.`,
  severity: 'error',
  from: { path: folder(name), pathNot: UNTESTED },
  to: { path: '^src/', pathNot: [name, ...allowed].map(folder) },
}));

const only = (name, comment, folders, to) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^src/', pathNot: [...folders.map(folder), UNTESTED] },
  to,
});

module.exports = {
  forbidden: [
    ...table,
    {
      name: 'fixtures-in-tests',
      comment: 'What only tests need is not part of what is published.',
      severity: 'error',
      from: { path: '^src/', pathNot: UNTESTED },
      to: { path: '^src/.*/fixtures\\.ts$' },
    },
    {
      name: 'unknown-folder',
      comment: 'A folder that is not in the table has no place in the architecture yet: add it there first.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: Object.keys(MAY_IMPORT).map(folder) },
      to: {},
    },
    {
      name: 'core-is-pure',
      comment: 'core is vocabulary: no packages, no platform modules.',
      severity: 'error',
      from: { path: '^src/core/', pathNot: UNTESTED },
      to: { pathNot: '^src/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('only-process-starts-children', 'Only process/ starts a child.', ['process'], {
      path: '^(node:)?child_process$',
      dependencyTypesNot: ['type-only'],
    }),
    only('only-guarded-sockets', 'Only egress/ and upstream/ open outgoing sockets.', ['egress', 'upstream'], {
      path: '^(undici|(node:)?(net|tls|https))($|/)|node_modules/undici/',
      dependencyTypesNot: ['type-only'],
    }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
};
