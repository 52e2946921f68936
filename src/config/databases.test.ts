import { expect } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { explain } from './explain.ts';
import { machineWith } from './fixtures.ts';

const untrusted = { trust: async () => ({ trusts: () => false }) };
const shop = { name: 'shop', type: 'postgres', url: 'postgres://reader:hunter2@db.example.com/shop' };
const withConnections = (...connections: readonly object[]) => ({ builtins: { database: { connections } } });

verifies('C14', 'reads connections with their defaults, and SQLite files relative to the project folder', async () => {
  const machine = await machineWith({
    'project/heddle.json': withConnections(
      { name: 'notes', type: 'sqlite', database: 'data/notes.db' },
      {
        name: 'shop',
        type: 'mysql',
        host: 'db',
        database: 'data/shop',
        username: '${WHO}',
        password: '${secret:pw}',
      },
    ),
    'user/.heddle/heddle.json': withConnections({ name: 'home', type: 'sqlite', database: 'home.db' }),
  });
  const secrets = async () => new Map([['pw', 'hunter2']]);
  const { settings, problems } = await machine.load({ env: { WHO: 'reader' }, secrets });
  const defaults = { access: 'read', allowDdl: false, allowPrivilegedRole: false, allowFunctions: [] };
  expect(problems).toEqual([]);
  expect(settings.builtins.database).toEqual({
    enabled: true,
    connections: [
      { ...defaults, name: 'notes', type: 'sqlite', database: machine.path('project/data/notes.db') },
      {
        ...defaults,
        ...{
          name: 'shop',
          type: 'mysql',
          host: 'db',
          database: 'data/shop',
          username: 'reader',
          password: 'hunter2',
        },
      },
      { ...defaults, name: 'home', type: 'sqlite', database: machine.path('project/home.db') },
    ],
    queryTimeoutMs: 30_000,
    maxRows: 1000,
  });
});

verifies('C10', 'leaves out an invalid connection, names its place, and keeps the others', async () => {
  const good = { name: 'good', type: 'sqlite', database: 'a.db' };
  for (const [connection, message] of [
    [{ ...shop, host: 'other' }, '`builtins.database.connections[1].host` is part of `url` already.'],
    [{ ...shop, url: 'http://db.example.com' }, '`builtins.database.connections[1].url` must be a postgres:// URL.'],
    [{ ...shop, type: 'mysql' }, '`builtins.database.connections[1].url` must be a mysql:// URL.'],
    [{ ...shop, url: `${shop.url}?host=evil.example.com` }, '[1].url` has other parameters than sslmode and ssl'],
    [{ ...shop, url: `${shop.url}?sslcert=/etc/passwd` }, '[1].url` has other parameters than sslmode and ssl'],
    [{ ...shop, url: `${shop.url}?sslmode=prefer` }, '[1].url` has another sslmode than disable, require'],
    [{ ...shop, url: `${shop.url}?sslmode=disable`, ssl: true }, '[1].url` contradicts `ssl`.'],
    [{ ...shop, url: 'postgres:///shop' }, '[1].url` names no host.'],
    [{ name: 'b', type: 'mysql', url: 'mysql://h/b?multipleStatements=true' }, '[1].url` has other parameters than'],
    [{ name: 'b', type: 'mysql', host: 'good.example.com), open (x' }, '[1].host` must be a name, an IP address or'],
    [{ ...shop, type: 'oracle' }, '`builtins.database.connections[1].type` must be one of'],
    [{ ...shop, name: 'my shop' }, '`builtins.database.connections[1].name` must be 1 to 64 letters'],
    [{ ...shop, acces: 'read' }, '`builtins.database.connections[1].acces` is not a name Heddle knows.'],
    [{ ...shop, allowDdl: true }, '`builtins.database.connections[1].allowDdl` needs `"access": "readwrite"`.'],
    [{ ...shop, url: '${NOPE}' }, 'The variable `NOPE` is not set'],
    [{ ...shop, name: '${secret:pw}' }, 'The secret `pw` is not set'],
    [{ name: 'b', type: 'postgres' }, '`builtins.database.connections[1].url` is missing.'],
    [
      { name: 'b', type: 'postgres', host: 'h', port: 70_000 },
      '`builtins.database.connections[1].port` must be at most',
    ],
    [{ name: 'b', type: 'sqlite' }, '`builtins.database.connections[1].database` is missing.'],
    [{ name: 'b', type: 'sqlite', database: ':memory:' }, 'must be the path of a file.'],
    [{ name: 'b', type: 'sqlite', database: 'b.db', host: 'h' }, 'has no use with `sqlite`'],
    [{ ...good, database: 'b.db' }, '`builtins.database.connections[1].name` is the name of two connections.'],
    ['text', '`builtins.database.connections[1]` must be an object, not a string.'],
  ] as const) {
    const machine = await machineWith({ 'project/heddle.json': withConnections(good, connection as object) });
    const secrets = async () => new Map([['pw', 'hunter2']]);
    const { settings, problems } = await machine.load({ secrets });
    expect.soft(problems[0]?.message).toContain(message);
    const { name } = connection as { readonly name?: string };
    const named = /^\w+$/.test(name ?? '') ? `the connection \`${name}\`` : 'this connection';
    expect.soft(problems[0]?.message).toContain(`Until it is corrected, ${named} is left out.`);
    expect.soft(problems[0]?.at).toMatchObject({ file: machine.path('project/heddle.json'), line: expect.any(Number) });
    expect.soft(settings.builtins.database).toMatchObject({ enabled: true, connections: [{ name: 'good' }] });
  }
});

verifies('C10', 'turns the database tools off when another of their settings is invalid', async () => {
  for (const wrong of [{ maxRows: 0 }, { queryTimeoutMs: '1s' }, { connections: {} }, { rows: 5 }]) {
    const machine = await machineWith({ 'project/heddle.json': { builtins: { database: wrong } } });
    const { settings, problems } = await machine.load();
    expect.soft(settings.builtins.database.enabled).toBe(false);
    expect.soft(problems[0]?.message).toContain('the built-in server `database` is off');
  }
});

verifies('C11', 'opens no connection of an untrusted project, and shows where it would connect', async () => {
  const machine = await machineWith({
    'project/heddle.json': withConnections(shop, { name: 'own', type: 'sqlite', database: 'x.db' }),
    'user/.heddle/heddle.json': withConnections({
      name: 'own',
      type: 'sqlite',
      database: 'own.db',
      access: 'readwrite',
    }),
  });
  const { settings, problems, untrusted: things } = await machine.load(untrusted);
  expect(settings.builtins.database.connections).toMatchObject([
    { name: 'own', database: machine.path('project/own.db') },
  ]);
  expect(problems[0]?.message).toContain('open the database shop (postgres at db.example.com)');
  expect(JSON.stringify([problems, things])).not.toContain('hunter2');
});

verifies('C11', 'shows the host and the port that the driver connects to, however they are written', async () => {
  for (const [connection, place] of [
    [{ ...shop, url: 'postgres://good.example.com%5C@evil.example.com:5433/shop' }, 'evil.example.com:5433'],
    [{ ...shop, url: 'postgres://u@%65vil.example.com/shop' }, 'evil.example.com'],
    [{ ...shop, url: 'postgres://u@%2Fvar%2Frun%2Fpostgresql/shop' }, '/var/run/postgresql'],
    [{ ...shop, url: 'postgres://u@[::1]/shop' }, '::1'],
    [{ name: 'b', type: 'mysql', host: 'evil.example.com', port: 3307 }, 'evil.example.com:3307'],
  ] as const) {
    const machine = await machineWith({ 'project/heddle.json': withConnections(connection) });
    const { problems } = await machine.load(untrusted);
    expect.soft(problems[0]?.message).toContain(` at ${place})`);
  }
});

verifies('C11', 'keeps trusting connections whose variables and secrets get other values, or none', async () => {
  const connection = { name: 'b', type: 'mysql', host: '${PLACE:-db}', username: 'u', password: '${secret:pw}' };
  const hashWith = async (env: Record<string, string>, pw: string | undefined, host = connection.host) => {
    const machine = await machineWith({ 'project/heddle.json': withConnections(shop, { ...connection, host }) });
    const secrets = async () => new Map(pw === undefined ? [] : [['pw', pw]]);
    return (await machine.load({ ...untrusted, env, secrets })).untrusted[0]?.hash;
  };
  const hash = await hashWith({}, 'hunter2');
  expect(await hashWith({ PLACE: 'other' }, 'hunter3')).toBe(hash);
  expect(await hashWith({}, undefined)).toBe(hash);
  expect(await hashWith({}, 'hunter2', 'other')).not.toBe(hash);
});

verifies('C11', 'shows the text of variables and secrets that a connection would use, not their values', async () => {
  for (const [connection, shown] of [
    [{ url: 'postgres://u:${secret:pw}@db/x' }, "at 'postgres://u:${secret:pw}@db/x')"],
    [{ url: 'postgres://evil${WHERE:-/}@db/x' }, "at 'postgres://evil${WHERE:-/}@db/x')"],
    [{ url: 'postgres://u:lite${TOKEN}ral@db/x' }, "at 'postgres://u:[REDACTED]${TOKEN}[REDACTED]@db/x')"],
    [
      { host: 'db', port: 1, username: '${WHO:-lite}', password: '${secret:pw}' },
      "db:1, sends '${WHO}' and '${secret:pw}')",
    ],
    [{ host: '${TOKEN}.example.com' }, "at '${TOKEN}.example.com')"],
    [{ host: 'db', name: '${TOKEN}), x' }, "the database '${TOKEN}), x' (postgres"],
    [{ host: 'db', password: '${secret:unset}' }, "sends '${secret:unset}')"],
  ] as const) {
    const machine = await machineWith({
      'project/heddle.json': withConnections({ name: 'b', type: 'postgres', ...connection }),
    });
    const secrets = async () => new Map([['pw', 'hunter2']]);
    const { problems, untrusted: things } = await machine.load({ ...untrusted, env: { TOKEN: 'hunter3' }, secrets });
    expect.soft(things[0]?.would).toContain(shown);
    expect.soft(JSON.stringify([problems, things])).not.toMatch(/hunter|lite\$|\}ral/);
  }
});

verifies('C11', 'turns the database tools off whose limits an edit made untrusted', async () => {
  for (const limit of [{ maxRows: 10 }, { queryTimeoutMs: 1000 }]) {
    const machine = await machineWith({
      'project/heddle.json': { builtins: { database: limit } },
      'user/.heddle/heddle.json': withConnections(shop),
    });
    const { settings, problems } = await machine.load(untrusted);
    expect(settings.builtins.database.enabled).toBe(false);
    expect(problems[0]?.message).toContain('Until you trust it, the built-in database tools are off.');
  }
});

verifies('C6', 'takes a connection as a whole from the first file that has its name', async () => {
  const machine = await machineWith({
    'project/heddle.json': withConnections({ name: 'shop', type: 'postgres', host: 'elsewhere.example.com' }),
    'user/.heddle/heddle.json': withConnections(shop),
  });
  const { settings } = await machine.load();
  expect(settings.builtins.database.connections).toEqual([
    expect.objectContaining({ name: 'shop', host: 'elsewhere.example.com' }),
  ]);
  expect(JSON.stringify(settings)).not.toContain('hunter2');
});

verifies('C7', 'shows no URL, user or password of a connection in `config explain`', async () => {
  const connections = withConnections(
    { ...shop, url: 'postgres://reader:hunter2@db.example.com/hunter3' },
    { name: 'b', type: 'mysql', host: 'db', username: 'hunter4', password: 'hunter5' },
  );
  const machine = await machineWith({ 'project/heddle.json': connections });
  const rows = explain(await machine.load());
  const row = rows.find(({ key }) => key === 'builtins.database.connections');
  expect(row).toMatchObject({ scope: 'project', line: 4, value: [{ name: 'shop' }, { name: 'b', host: 'db' }] });
  expect(JSON.stringify(rows)).not.toMatch(/hunter|db\.example/);
});

verifies('C6', 'uses only the connections of the organisation if it excludes other servers', async () => {
  const own = { name: 'own', type: 'sqlite', database: 'own.db' };
  const machine = await machineWith({
    'etc/managed-mcp.json': { mcpServers: {} },
    'user/.heddle/heddle.json': withConnections(own),
  });
  const { settings, problems } = await machine.load();
  expect(settings.builtins.database.connections).toEqual([]);
  expect(problems.map(({ message }) => message)).toContainEqual(
    expect.stringContaining('`builtins.database.connections` has no effect: this machine is managed'),
  );
});
