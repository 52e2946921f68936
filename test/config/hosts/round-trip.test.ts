import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { HOST_NAMES, HOSTS, type HostName } from '../../../src/config/hosts/hosts.ts';
import { remoteEntry, stdioEntry } from '../../../src/config/schema/server-schema.ts';
import type { Json, JsonObject } from '../../../src/core/call.ts';
import { canonicalJson } from '../../../src/core/json.ts';
import { verifies } from '../../requirements.ts';

const FILE = 'file';

/** Texts with all characters that some host's syntax uses. */
const piece = fc.oneof(
  fc.constantFrom('${TOKEN}', '${HOME_DIR:-x}', '${workspaceFolder}', '${userHome}', '${secret:gh}', '$${', '${env:A}'),
  fc.constantFrom('$', '$TOKEN', '{env:A}', '{A}', '{', '}', '"', "'", '\\', '#', '//', ' ', '--token', 'é', '=', ':-'),
  fc.string({ maxLength: 6 }),
);
const isSound = (text: string) => !/[\0\r\n]/.test(text) && !/(?<!\$)\$\{(?![^}]*\})/.test(text);
const text = fc.array(piece, { maxLength: 3 }).map((parts) => parts.join(''));
const line = text.filter(isSound);
const names = fc.array(fc.stringMatching(/^[a-z_]{1,8}$/), { maxLength: 3 });
const key = fc.oneof(fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,7}$/), fc.constantFrom('A', 'TOKEN', 'x-y', 'a.b'));
const map = fc.dictionary(key, fc.oneof(line, fc.constantFrom('${A}', '${TOKEN}', 'Bearer ${TOKEN}')), { maxKeys: 3 });
const optional = { requiredKeys: [] as [] };

const treatment = {
  description: fc.string({ maxLength: 10 }),
  enabled: fc.boolean(),
  trusted: fc.boolean(),
  priority: fc.integer({ min: 0, max: 3 }),
  timeoutMs: fc.integer({ min: 1, max: 100_000 }),
  connectTimeoutMs: fc.integer({ min: 1, max: 100_000 }),
  permissions: fc.record(
    { allowedTools: names, deniedTools: names, readPermission: fc.constantFrom('allow', 'ask') },
    optional,
  ),
};
const stdio = fc.record(
  {
    command: fc.oneof(
      fc.constantFrom('npx', 'uvx', 'docker'),
      line.filter((one) => one !== ''),
    ),
    args: fc.oneof(fc.constant(['-y', '@scope/name@1.2.3', '--x']), fc.array(line, { maxLength: 3 })),
    env: map,
    cwd: line.filter((one) => one !== ''),
    ...treatment,
  },
  { requiredKeys: ['command'] },
);
const remote = fc.record(
  {
    type: fc.constantFrom('http', 'sse'),
    url: fc.constantFrom('https://a.example/mcp', 'https://${HOST}/mcp', 'https://a.example/{A}?x=$y'),
    headers: fc.dictionary(fc.constantFrom('Authorization', 'X-Key'), fc.oneof(line, fc.constant('Bearer ${TOKEN}'))),
    oauth: fc.record(
      { clientId: fc.constantFrom('id', '${CLIENT}'), scopes: names.filter(({ length }) => length > 0) },
      { requiredKeys: ['clientId'] },
    ),
    ...treatment,
  },
  { requiredKeys: ['url'] },
);
const entry = fc.oneof(stdio, remote) as fc.Arbitrary<JsonObject>;

/** Normalizes an entry: defaults filled in, references in one spelling. */
function meaning(one: JsonObject): JsonObject {
  const { url } = one;
  const shown = url === undefined ? stdioEntry.parse(one) : { ...remoteEntry.parse({ ...one, url: 'http://x' }), url };
  return JSON.parse(JSON.stringify(shown).replaceAll('${env:', '${')) as JsonObject;
}

function leaves(value: Json | undefined, name = ''): readonly (readonly [string, Json])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value ?? null]];
  return Object.entries(value).flatMap(([step, one]) => leaves(one, name === '' ? step : `${name}.${step}`));
}

/** Checks one round trip. Returns false if the host cannot run the entry. */
function check(host: HostName, ours: JsonObject, existing: string | undefined): boolean {
  const format = HOSTS[host];
  const exported = format.to({ x: ours }, existing, { file: FILE });
  const imported = format.from(exported.text, { file: FILE });
  const back = imported.servers.x;
  const notes = exported.notes.join('\n');
  if (/(It|The server) is left out/.test(notes)) return false;
  if (exported.problems.length > 0) {
    expect(exported.problems).toMatchObject([{ message: expect.stringContaining('cannot be described') }]);
    return false;
  }
  if (back === undefined) throw new Error(`lost without a note: ${exported.text}`);
  expect(imported.problems).toEqual([]);
  const found = new Map(leaves(meaning(back)));
  for (const [name, value] of leaves(meaning(ours))) {
    const named = name.split('.').some((_, end, steps) => notes.includes(`\`${steps.slice(0, end + 1).join('.')}\``));
    if (!named) expect([name, canonicalJson(found.get(name) ?? {})]).toEqual([name, canonicalJson(value)]);
  }
  // The import adds no field.
  const known = new Set(leaves(meaning(ours)).map(([name]) => name));
  expect([...found.keys()].filter((name) => !known.has(name) && canonicalJson(found.get(name)) !== '{}')).toEqual([]);
  // A second round trip changes nothing.
  const again = format.to({ x: back }, exported.text, { file: FILE });
  expect(again.text).toBe(exported.text);
  return true;
}

describe.each(HOST_NAMES)('%s', (host) => {
  verifies('C12', 'returns each field after a round trip, or names it in a note', () => {
    let carried = 0;
    const property = fc.property(entry, (ours) => {
      carried += Number(check(host, ours, undefined));
    });
    fc.assert(property, { seed: 12, numRuns: 200 });
    expect(carried).toBeGreaterThan(20);
  });

  verifies('C12', 'returns each field from a file that had another server of that name', () => {
    const property = fc.property(entry, entry, (before, ours) => {
      const { text: existing } = HOSTS[host].to({ x: before, y: before }, undefined, { file: FILE });
      check(host, ours, host === 'registry' ? undefined : existing);
    });
    fc.assert(property, { seed: 12, numRuns: 100 });
  });
});
