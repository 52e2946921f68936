// The import table of ARCHITECTURE.md. One row per folder; a row may import only rows above it, so there are no cycles.
const MAY_IMPORT = {
  core: [],
  wire: ['core'],
  schema: ['core'],
  // CEL under limits. No other folder imports the evaluator.
  cel: ['core'],
  egress: ['core'],
  process: ['core'],
  translate: ['core'],
  files: ['core'],
  store: ['core', 'files'],
  // `${secret:name}` in a file is resolved while the file is read.
  config: ['core', 'wire', 'files', 'schema', 'cel', 'egress', 'store/secrets'],
  upstream: ['core', 'files', 'config', 'store', 'wire', 'schema', 'egress', 'process'],
  catalog: ['core', 'config', 'store', 'upstream', 'schema', 'translate'],
  govern: ['core', 'config', 'store', 'schema', 'cel', 'egress', 'process'],
  // Workflows reach tools by `dispatch`, which they are given.
  workflow: ['core', 'schema', 'cel', 'store'],
  agent: ['core'],
  // SQLite runs in children.
  builtin: ['core', 'wire', 'schema', 'process'],
  'heddle.ts': ['core', 'config'],
  gateway: ['core', 'files', 'config', 'wire', 'egress', 'heddle.ts'],
  console: ['core', 'config', 'wire', 'egress', 'heddle.ts'],
  // The parts of open-heddle.ts. They know every part but no front end.
  compose: [
    ...[
      'core',
      'files',
      'config',
      'store',
      'process',
      'upstream',
      'catalog',
      'govern',
      'builtin',
      'schema',
      'cel',
      'egress',
      'workflow',
      'agent',
    ],
    'heddle.ts',
  ],
  'open-heddle.ts': [
    'core',
    'files',
    'config',
    'store',
    'process',
    'upstream',
    'catalog',
    'govern',
    'heddle.ts',
    'compose',
  ],
  // The parts of index.ts: the library is a front end.
  library: ['core', 'config', 'wire', 'heddle.ts', 'open-heddle.ts'],
  cli: ['core', 'files', 'config', 'heddle.ts', 'open-heddle.ts', 'gateway', 'console', 'builtin'],
};

// The same inside three folders. A file without a row, such as servers.ts, may import all of its folder and is
// imported by no subfolder of it.
const MAY_IMPORT_WITHIN = {
  config: {
    schema: [],
    'config.ts': ['schema'],
    'document.ts': ['config.ts'],
    read: ['schema', 'config.ts', 'document.ts'],
    'merge-connectors.ts': ['config.ts', 'read'],
    sources: ['schema', 'config.ts', 'document.ts', 'read', 'merge-connectors.ts'],
    edit: ['schema', 'config.ts', 'document.ts', 'read', 'sources'],
    hosts: ['schema', 'config.ts', 'document.ts', 'read', 'edit'],
  },
  upstream: {
    auth: [],
    'call-request.ts': [],
    'legacy-task.ts': ['call-request.ts'],
    elicitation: ['call-request.ts', 'legacy-task.ts'],
    'connection.ts': ['auth', 'elicitation'],
    'failure.ts': ['elicitation'],
    protocol: ['call-request.ts', 'legacy-task.ts', 'elicitation', 'connection.ts', 'failure.ts'],
    transports: ['auth', 'connection.ts', 'protocol'],
    lifecycle: ['auth', 'elicitation', 'connection.ts', 'failure.ts', 'protocol', 'transports'],
    'servers.ts': ['elicitation', 'connection.ts', 'lifecycle'],
    doctor: ['connection.ts', 'transports', 'servers.ts'],
  },
  gateway: {
    'node-http.ts': [],
    'response-writer.ts': [],
    'unsent-bytes.ts': [],
    'resource-subscriptions.ts': [],
    'request-context.ts': ['resource-subscriptions.ts'],
    'reserved-meta.ts': ['request-context.ts'],
    'to-rpc-error.ts': ['request-context.ts'],
    'http-request.ts': ['response-writer.ts'],
    continuations: ['request-context.ts', 'reserved-meta.ts', 'to-rpc-error.ts'],
    methods: [
      'resource-subscriptions.ts',
      'request-context.ts',
      'reserved-meta.ts',
      'to-rpc-error.ts',
      'continuations',
    ],
    'in-flight.ts': ['request-context.ts'],
    'mcp-handler.ts': ['request-context.ts', 'to-rpc-error.ts', 'continuations', 'methods'],
    auth: ['node-http.ts', 'response-writer.ts', 'http-request.ts'],
    'sign-in': ['response-writer.ts', 'http-request.ts', 'auth'],
    http: [
      ...[
        'node-http.ts',
        'response-writer.ts',
        'unsent-bytes.ts',
        'http-request.ts',
        'resource-subscriptions.ts',
        'request-context.ts',
      ],
      ...['to-rpc-error.ts', 'continuations', 'methods', 'auth'],
    ],
    transports: [
      ...[
        'node-http.ts',
        'response-writer.ts',
        'unsent-bytes.ts',
        'http-request.ts',
        'resource-subscriptions.ts',
        'request-context.ts',
      ],
      ...['continuations', 'methods', 'in-flight.ts', 'mcp-handler.ts', 'auth', 'http'],
    ],
  },
};

const UNTESTED = '(\\.test|/fixtures)\\.ts$';
const pathOf = (name) => (name.endsWith('.ts') ? `^src/${name.replaceAll('.', '\\.')}$` : `^src/${name}/`);

/** Makes one rule per row. Throws when a row names itself, a later row or no row. */
function rowsOf(table, area = '') {
  const names = Object.keys(table);
  return Object.entries(table).map(([name, allowed], at) => {
    const above = names.slice(0, at);
    const wrong = allowed.find((other) => !above.some((row) => other === row || other.startsWith(`${row}/`)));
    if (wrong) throw new Error(`The row ${area}${name} names ${wrong}, which is no row above it.`);
    return {
      name: `${`${area}${name}`.replace('.ts', '').replace('/', '-')}-imports`,
      comment: `${area}${name} may import ${allowed.join(', ') || 'nothing of ours'}.`,
      severity: 'error',
      from: { path: pathOf(area + name), pathNot: UNTESTED },
      to: { path: `^src/${area}`, pathNot: [name, ...allowed].map((other) => pathOf(area + other)) },
    };
  });
}

const only = (name, comment, folders, to) => ({
  name,
  comment,
  severity: 'error',
  from: { path: '^src/', pathNot: [...folders.map(pathOf), UNTESTED] },
  to,
});

module.exports = {
  forbidden: [
    ...rowsOf(MAY_IMPORT),
    ...Object.entries(MAY_IMPORT_WITHIN).flatMap(([area, table]) => rowsOf(table, `${area}/`)),
    {
      name: 'fixtures-in-tests',
      comment: 'Fixtures are not published, so only tests may import them.',
      severity: 'error',
      from: { path: '^src/', pathNot: UNTESTED },
      to: { path: '^src/.*/fixtures\\.ts$' },
    },
    {
      name: 'unknown-folder',
      comment: 'Every folder has a row in the table. Add the row first.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: Object.keys(MAY_IMPORT).map(pathOf) },
      to: {},
    },
    ...Object.entries(MAY_IMPORT_WITHIN).map(([area, table]) => ({
      name: 'unknown-subfolder',
      comment: `Every subfolder of ${area} has a row in the table. Add the row first.`,
      severity: 'error',
      from: { path: `^src/${area}/[^/]+/`, pathNot: Object.keys(table).map((name) => pathOf(`${area}/${name}`)) },
      to: {},
    })),
    {
      name: 'core-is-pure',
      comment: 'core is vocabulary: no packages, and of the platform only hashes.',
      severity: 'error',
      from: { path: '^src/core/', pathNot: UNTESTED },
      to: { pathNot: '^(src/|(node:)?crypto$)' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('only-process-starts-children', 'Only process/ starts a child.', ['process'], {
      path: '^(node:)?child_process$',
      dependencyTypesNot: ['type-only'],
    }),
    only('only-oauth-protocol', 'One file knows oauth4webapi.', ['upstream/auth/oauth-protocol.ts'], {
      path: 'node_modules/oauth4webapi/',
    }),
    only('only-mysql-driver', 'Only builtin/database imports mysql2, an optional peer.', ['builtin/database/mysql'], {
      path: 'node_modules/mysql2/',
    }),
    only(
      'only-postgres-driver',
      'Only the store and builtin/database import pg.',
      ['store/postgres', 'builtin/database/postgres'],
      {
        path: 'node_modules/(pg|pg-cursor|libpg-query)/',
      },
    ),
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
