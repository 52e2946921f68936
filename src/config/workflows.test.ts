import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { until } from '../../test/until.ts';
import type { Config } from './config.ts';
import { configDigest } from './config-digest.ts';
import { machineWith } from './fixtures.ts';
import { followConfig } from './follow-config.ts';

const flow = (name: string) => ({ heddle: 1, name, steps: [{ id: 'a', tool: 's.t' }] });
const untrusting = { trust: async () => ({ trusts: () => false }) };
const namesOf = ({ workflows = [] }: Config) => workflows.map(({ name, scope }) => `${scope} ${name}`);

verifies(
  'W4',
  'finds workflows in heddle.json and in the folders of the project, the user and the organisation',
  async () => {
    const machine = await machineWith({
      'project/heddle.json': { workflows: { inline: flow('inline'), named: 'flows/named.yaml' } },
      'project/flows/named.yaml': 'heddle: 1\n',
      'project/.heddle/workflows/a.yaml': 'heddle: 1\n',
      'project/.heddle/workflows/b.json': flow('b'),
      'project/.heddle/workflows/types.d.ts': '',
      'project/.heddle/workflows/README.md': '',
      'user/.heddle/workflows/c.yml': 'heddle: 1\n',
      'etc/workflows/d.yaml': 'heddle: 1\n',
    });
    const config = await machine.load();
    expect(config.problems).toEqual([]);
    expect(namesOf(config)).toEqual([
      'enterprise d',
      'project inline',
      'project named',
      'project a',
      'project b',
      'user c',
    ]);
    expect(config.workflows?.[1]).toMatchObject({
      value: flow('inline'),
      at: { file: machine.path('project/heddle.json'), line: 3 },
    });
    expect(config.workflows?.[2]).toMatchObject({
      file: machine.path('project/flows/named.yaml'),
      text: 'heddle: 1\n',
    });
    const files = config.files.filter(({ state }) => state === 'found').map(({ file }) => file);
    expect(files).toContain(machine.path('project/flows/named.yaml'));
  },
);

verifies(
  'C11',
  'leaves out the workflows of an untrusted project, and lists their whole text for the user',
  async () => {
    const machine = await machineWith({
      'project/heddle.json': { workflows: { inline: flow('inline') } },
      'project/.heddle/workflows/a.yaml': 'heddle: 1\nname: a\n',
      'project/.heddle/workflows/code.ts': 'throw new Error("it ran");\n',
      'user/.heddle/workflows/a.yaml': 'heddle: 1\n',
    });
    const config = await machine.load(untrusting);
    expect(namesOf(config)).toEqual(['user a']);
    expect(config.untrusted).toMatchObject([
      { thing: 'settings heddle.json' },
      {
        thing: 'workflow .heddle/workflows/a.yaml',
        would: 'add its workflow as a tool',
        also: ['heddle: 1', 'name: a', ''],
      },
      { thing: 'workflow .heddle/workflows/code.ts', would: 'run its code and add its workflow as a tool' },
    ]);
    expect(config.problems.map(({ fix }) => fix)).toEqual(
      Array(3).fill('Review it, then run `heddle trust` once (in CI: pass --trust-project).'),
    );
  },
);

verifies('C11', 'asks again for trust when the content of a workflow file changes', async () => {
  const machine = await machineWith({
    'project/heddle.json': { workflows: { named: './named.yaml' } },
    'project/named.yaml': 'heddle: 1\n',
  });
  const hashes = async () => {
    const seen = new Map<string, string>();
    const trust = async () => ({ trusts: (_: string, thing: string, hash: string) => Boolean(seen.set(thing, hash)) });
    await machine.load({ trust });
    return seen;
  };
  const before = await hashes();
  await writeFile(machine.path('project/named.yaml'), 'heddle: 1 \n');
  const after = await hashes();
  expect(before.get('settings heddle.json')).toBe(after.get('settings heddle.json'));
  expect(before.get('workflow named.yaml')).not.toBe(after.get('workflow named.yaml'));
});

verifies('C6', 'uses the workflow of the strongest scope, and reports the others with its name', async () => {
  const machine = await machineWith({
    'project/heddle.json': { workflows: { a: flow('a') } },
    'project/.heddle/workflows/a.yaml': 'heddle: 1\n',
    'user/.heddle/workflows/a.json': flow('a'),
  });
  const config = await machine.load();
  expect(namesOf(config)).toEqual(['project a']);
  expect(config.problems.map(({ message }) => message)).toEqual([
    `The workflow a of ${machine.path('project/.heddle/workflows/a.yaml')} is not used: ${machine.path('project/heddle.json')} has one of the same name and comes first.`,
    `The workflow a of ${machine.path('user/.heddle/workflows/a.json')} is not used: ${machine.path('project/heddle.json')} has one of the same name and comes first.`,
  ]);
});

verifies('W4', 'loads TypeScript definitions, and reports a module that fails or exports none', async () => {
  const definition = JSON.stringify(flow('x'));
  const machine = await machineWith({
    'user/.heddle/workflows/default.ts': `const steps: string = 'typed'; export default ${definition};\n`,
    'user/.heddle/workflows/named.ts': `export const flow = { value: ${definition} };\n`,
    'user/.heddle/workflows/thrown.ts': 'throw new Error("no\\nway");\n',
    'user/.heddle/workflows/syntax.ts': 'export default {\n',
    'user/.heddle/workflows/two.ts': `export const a = ${definition}; export const b = ${definition};\n`,
    'user/.heddle/workflows/cyclic.ts': 'const a: { b?: object } = {}; a.b = a; export default a;\n',
  });
  const config = await machine.load();
  expect(config.workflows).toMatchObject([
    { name: 'default', value: flow('x') },
    { name: 'named', value: flow('x') },
  ]);
  expect(config.problems).toMatchObject([
    { message: expect.stringMatching(/^The workflow cyclic cannot be used: .*circular/) },
    { message: expect.stringMatching(/^The workflow syntax cannot be used: /) },
    { message: expect.stringMatching(/^The workflow thrown cannot be used: .*cannot be loaded: no\\nway\.$/) },
    {
      message: expect.stringMatching(/^The workflow two cannot be used: .*exports no definition/),
      fix: 'Correct the file, or remove it.',
    },
  ]);
});

verifies('C10', 'reports a workflow file that is missing, too large or not text, and reads the others', async () => {
  const machine = await machineWith({
    'project/heddle.json': { workflows: { gone: 'gone.yaml' } },
    'user/.heddle/workflows/large.yaml': 'x'.repeat(256 * 1024 + 1),
    'user/.heddle/workflows/binary.yaml': new Uint8Array([0xff, 0xfe, 0x00]),
    'user/.heddle/workflows/fine.yaml': 'heddle: 1\n',
  });
  const config = await machine.load();
  expect(namesOf(config)).toEqual(['user fine']);
  expect(config.problems.map(({ message }) => message.replace(machine.folder, ''))).toEqual([
    'The workflow gone cannot be used: /project/gone.yaml does not exist.',
    'The workflow binary cannot be used: /user/.heddle/workflows/binary.yaml is not UTF-8 text.',
    'The workflow large cannot be used: /user/.heddle/workflows/large.yaml has 262145 bytes; the most Heddle reads is 262144.',
  ]);
});

verifies(
  'C14',
  'reads workflows of the `config` option, and refuses an entry that is neither a definition nor a path',
  async () => {
    const machine = await machineWith({});
    const config = await machine.load({ config: { workflows: { a: flow('a') } } });
    expect(namesOf(config)).toEqual(['config a']);
    const { problems } = await machine.load({ config: { workflows: { a: 5 } } });
    expect(problems).toMatchObject([
      { level: 'error', code: 'CONFIG_INVALID', message: expect.stringContaining('workflows') },
    ]);
  },
);

verifies(
  'C13',
  'reads the workflows again when a file changes, is added or removed, and the digest follows',
  async () => {
    const machine = await machineWith({ 'user/.heddle/workflows/a.yaml': 'heddle: 1\n' });
    let current = await machine.load();
    const first = configDigest(current, 'key');
    const followed = followConfig({
      ...{ first: current, read: () => machine.load(), also: new Map(), onProblems: () => {} },
      apply: (config) => {
        current = config;
      },
    });
    onTestFinished(() => followed.close());
    await writeFile(machine.path('user/.heddle/workflows/a.yaml'), 'heddle: 1\nname: changed\n');
    await until('the change is read', () => current.workflows?.[0]?.text?.includes('changed') === true);
    expect(configDigest(current, 'key')).not.toBe(first);
    await writeFile(machine.path('user/.heddle/workflows/b.yaml'), 'heddle: 1\n');
    await until('the new file is read', () => current.workflows?.length === 2);
  },
);
