import { describe, expect } from 'vitest';
import { YAMLParseError } from 'yaml';
import { verifies } from '../../test/requirements.ts';
import { isRulePattern } from '../core/text/rule-pattern.ts';
import type { Config } from './config.ts';
import { machineWith } from './fixtures.ts';

const YAML = 'project/.heddle/policies/a.yaml';
const OWN = 'project/heddle.json';
const FOREIGN = 'project/.mcp.json';

const load = async (name: string, text: string): Promise<Config> =>
  (await machineWith({ [name]: text })).load({ trust: async () => ({ trusts: () => false }) });
const charsOf = ({ problems }: Config) =>
  problems.reduce((sum, { message, fix = '' }) => sum + message.length + fix.length, 0);
const numbered = (count: number, write: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => write(index)).join(',');

/** Counts the syntax errors that the YAML parser makes during a task. */
async function countErrors(task: () => Promise<unknown>): Promise<number> {
  let count = 0;
  Object.defineProperty(YAMLParseError.prototype, 'pos', { configurable: true, get: () => [0, 0], set: () => count++ });
  try {
    await task();
  } finally {
    Reflect.deleteProperty(YAMLParseError.prototype, 'pos');
  }
  return count;
}

describe('a file that is read before trust', () => {
  for (const [what, text] of [
    ['empty items', `policies: [1${','.repeat(40_000)}2]`],
    ['items without commas', `policies: [${'"" '.repeat(20_000)}]`],
    ['wrong escapes', `policies: "${'\\q'.repeat(20_000)}"`],
  ] as const) {
    verifies('G3', `ends at the first of many errors in YAML: ${what}`, async () => {
      const errors = await countErrors(async () => {
        const config = await load(YAML, text);
        expect(config.problems).toHaveLength(1);
        expect(config.settings.mode).toBe('strict');
      });
      expect(errors).toBeLessThanOrEqual(1);
    });
  }

  for (const [what, text] of [
    ['values', `policies: [${'1,'.repeat(200_000)}1]`],
    ['comments', '#\n'.repeat(200_000)],
    ['blank lines', `policies:\n${'#\n'.repeat(200_000)}- 1\n`],
  ] as const) {
    verifies('G3', `is not composed if its YAML has too many tokens: ${what}`, async () => {
      const config = await load(YAML, text);
      expect(config.problems).toMatchObject([{ message: expect.stringContaining('more than 150000 tokens together') }]);
      expect(config.settings.mode).toBe('strict');
    });
  }

  verifies('G3', 'shares the limit of tokens with the other YAML files of its folder', async () => {
    const text = `policies: [] # x\n${'#\n'.repeat(30_000)}`;
    const files = ['a', 'b', 'c', 'd'].map((name) => [`project/.heddle/policies/${name}.yaml`, text] as const);
    const config = await (await machineWith(Object.fromEntries(files))).load();
    expect(config.problems.map(({ at }) => at?.file.at(-6))).toEqual(['c', 'd']);
  });

  for (const text of ['[', '{', '- ', '? '].map((one) => one.repeat(100_000))) {
    verifies('G3', `is refused before its nesting is composed: ${text.slice(0, 4)}`, async () => {
      const config = await load(YAML, text);
      expect(config.problems).toMatchObject([{ message: expect.stringContaining('nested deeper than 64 levels') }]);
    });
  }

  for (const [what, name, text] of [
    ['unknown keys of a rule', YAML, `policies: [{${numbered(5_000, (at) => `k${at}: 1`)}}]`],
    ['rules without fields', YAML, `policies: [${numbered(9_000, () => '{}')}]`],
    [
      'invalid conditions',
      YAML,
      `policies: [${numbered(2_000, (at) => `{name: a${at}, effect: deny, reason: r, when: "${at}+"}`)}]`,
    ],
    ['unknown settings', OWN, `{${numbered(50_000, (at) => `"k${at}": 1`)}}`],
    ['rules that are not texts', OWN, `{"permissions": {"deny": [${numbered(90_000, () => '1')}]}}`],
    ['connectors without fields', OWN, `{"connectors": [${numbered(90_000, () => '{}')}]}`],
    ['unset variables in one text', OWN, `{"roots": ["${'${UNSET}'.repeat(20_000)}"]}`],
    [
      'unset variables',
      OWN,
      `{"mcpServers": {"a": {"command": "x", "args": [${numbered(20_000, () => '"${UNSET}"')}]}}}`,
    ],
    [
      'unknown keys of a server',
      FOREIGN,
      `{"mcpServers": {"a": {"command": "x", ${numbered(50_000, (at) => `"k${at}": 1`)}}}}`,
    ],
    ['names that are written twice', FOREIGN, `{"mcpServers": {${numbered(50_000, () => '"a": 1')}}}`],
    ['the name __proto__', OWN, `{${numbered(50_000, () => '"__proto__": 1')}}`],
    ['a name of a million characters', OWN, `{"${'a'.repeat(1_000_000)}": 1}`],
    ['a server with a name of a million characters', OWN, `{"mcpServers": {"${'a'.repeat(1_000_000)}": 1}}`],
    ['a reference that is not closed', OWN, `{"mcpServers": {"a": {"command": "${'${A'.repeat(300_000)}"}}}`],
  ] as const) {
    verifies('C10', `reports at most 251 problems, in bounded text: ${what}`, async () => {
      const config = await load(name, text);
      expect(config.problems.length).toBeGreaterThan(0);
      expect(config.problems.length).toBeLessThanOrEqual(251);
      expect(charsOf(config)).toBeLessThan(100_000);
    });
  }

  verifies('C10', 'keeps the valid rules of a file with more errors than are described', async () => {
    const rules = [...Array(300).fill({}), { name: 'kept', effect: 'deny', reason: 'r' }];
    const config = await load('user/.heddle/policies/a.json', JSON.stringify({ policies: rules }));
    expect(config.policies?.map(({ name }) => name)).toEqual(['kept']);
    expect(config.problems.at(-1)?.message).toContain('800 more errors');
  });

  for (const [what, name, text] of [
    ['settings', OWN, `{"permissions": {"deny": [${numbered(200_000, () => '1')}]}}`],
    ['servers', FOREIGN, `{"mcpServers": {${numbered(100_000, (at) => `"s${at}": {"command": "x"}`)}}}`],
    [
      'policies',
      'project/.heddle/policies/a.json',
      `{"policies": [${numbered(9_000, () => `{"tools":[${'1,'.repeat(20)}1]}`)}]}`,
    ],
  ] as const) {
    verifies('C10', `is one problem if it has more than 100,000 values: ${what}`, async () => {
      const config = await load(name, text);
      expect(config.problems).toMatchObject([{ message: expect.stringContaining('more than 100000 values') }]);
      expect(config.servers.size).toBe(0);
      expect(config.settings.mode).toBe(name === FOREIGN ? 'guarded' : 'strict');
    });
  }

  verifies('C10', 'ends at the first error of JSON', async () => {
    for (const text of ['x ', ': ', ',', ']'].map((one) => `{"a": [${one.repeat(300_000)}]}`)) {
      const { problems } = await load(FOREIGN, text);
      expect(problems).toMatchObject([{ message: expect.stringContaining('is not valid JSON'), at: { line: 1 } }]);
    }
  });
});

verifies('C11', 'tells a rule from other text in linear time', () => {
  const hostile = `mcp__${'_'.repeat(1_000_000)} `;
  expect(isRulePattern(hostile)).toBe(false);
  const rules = ['mcp__a', 'mcp__a__b', 'mcp__a__*', 'mcp__a__é', 'mcp___', 'mcp_____é', 'mcp__a__b__c'];
  expect(rules.filter((rule) => !isRulePattern(rule))).toEqual([]);
  const others = ['mcp__', 'mcp__é', 'mcp__a b', 'mcp__a__b c', 'mcp__a*', 'mcp__*', 'mcp__a__*b', 'mcp__a_é'];
  expect(others.filter(isRulePattern)).toEqual([]);
});
