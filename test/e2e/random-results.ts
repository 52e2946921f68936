import fc from 'fast-check';
import type { Json, JsonObject } from '../../src/core/call.ts';

type Some<T> = fc.Arbitrary<T>;

/** Text of every kind: empty, any script, line breaks and frame delimiters, half of a surrogate pair. */
const text: Some<string> = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '\ud800', 'a\u2028b\u2029', '\0\b\r\n\n: data: {}', '</script>', '😀é', '"\\"', '\ufeff'),
);
const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(
    Number.MAX_SAFE_INTEGER,
    -Number.MAX_SAFE_INTEGER,
    Number.MAX_VALUE,
    Number.MIN_VALUE,
    1e300,
    2 ** 60,
  ),
);
const key = fc.oneof(
  text,
  fc.constantFrom(
    '',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '$ref',
    'id',
    'jsonrpc',
    'method',
    'a.b',
    'é',
  ),
);

export const json: Some<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(text, number, fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

/** Fields that no protocol version defines. */
const unknownBeside = (...known: string[]): Some<JsonObject> =>
  fc.dictionary(
    key.filter((name) => !known.includes(name)),
    json,
    { maxKeys: 3, noNullPrototype: true },
  );

/** An object with these fields, or some of them, and unknown ones. */
function open(fields: Record<string, Some<Json>>, required: readonly string[]): Some<JsonObject> {
  const known = fc.record(fields, { requiredKeys: [...required] }) as Some<JsonObject>;
  // Fields of 2026-07-28 may be set by the gateway, so they are not unknown.
  const ours = ['resultType', 'ttlMs', 'cacheScope', 'inputRequests', 'requestState'];
  return fc.tuple(known, unknownBeside(...Object.keys(fields), ...ours)).map(([some, more]) => ({ ...more, ...some }));
}

/** `_meta` keys of vendors, without those that MCP reserves. */
export const vendorMeta: Some<JsonObject> = fc.dictionary(
  fc.tuple(fc.constantFrom('example.com/', 'com.example/', '', 'x-'), text).map(([prefix, name]) => prefix + name),
  json,
  { maxKeys: 3, noNullPrototype: true },
);

/** `_meta` of a whole result, reserved keys included. */
const resultMeta: Some<JsonObject> = fc
  .tuple(vendorMeta, fc.dictionary(fc.constantFrom('serverInfo', 'subscriptionId'), json, { noNullPrototype: true }))
  .map(([own, reserved]) => ({
    ...own,
    ...Object.fromEntries(Object.entries(reserved).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value])),
  }));

const type = (name: string) => fc.constant(name);
const annotations = open({ audience: fc.array(text, { maxLength: 2 }), priority: fc.double({ min: 0, max: 1 }) }, []);
const marked = { annotations, _meta: vendorMeta };
const resource = fc.oneof(
  open({ uri: text, mimeType: text, text, ...marked }, ['uri', 'text']),
  open({ uri: text, mimeType: text, blob: fc.base64String(), ...marked }, ['uri', 'blob']),
);
const block: Some<JsonObject> = fc.oneof(
  open({ type: type('text'), text, ...marked }, ['type', 'text']),
  open({ type: type('image'), data: fc.base64String(), mimeType: text, ...marked }, ['type', 'data', 'mimeType']),
  open({ type: type('audio'), data: fc.base64String(), mimeType: text, ...marked }, ['type', 'data', 'mimeType']),
  open({ type: type('resource_link'), uri: text, name: text, ...marked }, ['type', 'uri', 'name']),
  open({ type: type('resource'), resource, ...marked }, ['type', 'resource']),
  open({ type: text, ...marked }, ['type']), // A future content type.
);
const some = (one: Some<Json>): Some<Json> => fc.array(one, { maxLength: 3 });
const object = unknownBeside();

export const RESULTS = {
  'tools/call': open({ content: some(block), structuredContent: object, isError: fc.boolean(), _meta: resultMeta }, [
    'content',
  ]),
  'resources/read': open({ contents: some(resource), _meta: resultMeta }, ['contents']),
  'prompts/get': open(
    {
      description: text,
      messages: some(open({ role: fc.constantFrom('user', 'assistant'), content: block }, ['role', 'content'])),
      _meta: resultMeta,
    },
    ['messages'],
  ),
} as const satisfies Record<string, Some<JsonObject>>;

/** A progress notification without its token. */
export const progress = open({ progress: number, total: number, message: text, _meta: vendorMeta }, [
  'progress',
]).filter((said) => said.progressToken === undefined);
export const log = open(
  { level: fc.constantFrom('debug', 'info', 'warning', 'error'), logger: text, data: json, _meta: vendorMeta },
  ['level', 'data'],
);
