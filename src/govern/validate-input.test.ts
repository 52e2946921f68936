import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../test/requirements.ts';
import { compose, type JsonObject, type Target } from '../core/call.ts';
import { aCall, answers, aTarget, text } from '../core/fixtures.ts';
import { validateInput } from './validate-input.ts';

const validated = compose([validateInput()], answers('done'));
const send = (inputSchema: JsonObject | undefined, input: JsonObject) =>
  validated(aCall({ target: aTarget({ definition: { name: 'echo', inputSchema } }), input }));

const attempt = (target: Target) => validated(aCall({ target })).catch((thrown: unknown) => thrown);

verifies('G4', 'passes valid arguments on', async () => {
  await expect(send({ type: 'object', required: ['a'] }, { a: 1 })).resolves.toEqual(text('done'));
});

verifies('G4', 'refuses invalid arguments with path, expected, actual and an example', async () => {
  const count = { type: 'object', properties: { n: { type: 'integer', minimum: 2 } }, required: ['n'] };
  const schema = { type: 'object', properties: { filter: count }, required: ['filter'] };
  await expect(send(schema, { filter: { n: 'two' } })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: 'The arguments of mcp__demo__echo do not fit: `filter.n` must be integer, got "two".',
    fix: 'Send for example {"filter":{"n":2}}.',
  });
});

verifies('G4', 'lists up to five problems of the arguments', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]));
  const schema = { type: 'object', properties, required: ['a', 'b'], additionalProperties: false };
  await expect(send(schema, { a: 'x', c: [], stray: 1 })).rejects.toMatchObject({
    message:
      'The arguments of mcp__demo__echo do not fit: the input lacks `b`; `a` must be integer, got "x"; ' +
      '`c` must be integer, got []; `stray` is not an argument of this tool; it takes `a`, `b`, `c`, `d`, `e`, `f`.',
  });
  const all = Object.fromEntries(names.map((name) => [name, null]));
  await expect(send({ ...schema, required: names }, all)).rejects.toMatchObject({
    message: expect.stringMatching(/(`[a-f]` must be integer, got null; ){5}and more\.$/),
  });
});

verifies('G4', 'describes a value that fits no branch of a union by the nearest branch', async () => {
  const object = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const schema = (anyOf: readonly JsonObject[]) => ({ properties: { a: { anyOf } } });
  await expect(send(schema([{ type: 'string' }, { type: 'null' }]), { a: 1 })).rejects.toMatchObject({
    message: expect.stringContaining('`a` must be string or null, got 1.'),
  });
  await expect(send(schema([{ type: 'null' }, object]), { a: { n: 'x' } })).rejects.toMatchObject({
    message: expect.stringContaining('`a.n` must be integer, got "x".'),
  });
});

verifies('G4', 'a tool without a schema accepts any object', async () => {
  await expect(send(undefined, { whatever: [1] })).resolves.toEqual(text('done'));
});

verifies('G4', 'a tool with a broken schema is refused at every call', async () => {
  const target = aTarget({ definition: { name: 'echo', inputSchema: { type: 'strng' } } });
  const errors = [await attempt(target), await attempt(target)];
  expect(errors[0]).toMatchObject({ code: 'TOOL_INVALID' });
  expect(errors[1]).toBe(errors[0]); // Nothing was compiled a second time.
});

verifies('G4', 'a reference to another machine is refused, and nothing is fetched', async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests++;
    response.end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const $ref = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
  for (const schema of [{ $ref }, { properties: { a: { $ref } } }, { $schema: $ref, $dynamicRef: $ref }]) {
    await expect(send(schema, { a: 1 })).rejects.toMatchObject({ code: 'TOOL_INVALID' });
  }
  const told = await fetch($ref); // The way there is open: had anything been asked, it would have been heard.
  expect([told.status, requests]).toEqual([200, 1]);
});

verifies('G4', 'checks arguments by the new schema after a definition changes', async () => {
  await expect(send({ required: ['a'] }, {})).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(send({ required: [] }, {})).resolves.toEqual(text('done'));
});

verifies('R1', 'refuses an invalid tool with the reason', async () => {
  expect(await attempt(aTarget({ invalid: 'it has no name' }))).toMatchObject({
    code: 'TOOL_INVALID',
    message: 'mcp__demo__echo cannot be called: it has no name.',
  });
});

const OPTIONAL: JsonObject = {
  type: 'object',
  properties: { path: { type: 'string' }, 'a/b': { type: 'string' }, limit: { anyOf: [{ type: 'integer' }] } },
  required: ['path'],
  additionalProperties: false,
};

verifies('G4', 'takes a null for an optional argument as absent, and forwards it unchanged', async () => {
  const seen: JsonObject[] = [];
  const forwards = compose([validateInput()], (call) => {
    seen.push(call.input);
    return Promise.resolve(text('done'));
  });
  const input = { path: 'x', 'a/b': null, limit: null };
  await forwards(aCall({ target: aTarget({ definition: { name: 'echo', inputSchema: OPTIONAL } }), input }));
  expect(seen).toEqual([{ path: 'x', 'a/b': null, limit: null }]);
  expect(seen[0]).toBe(input);
});

verifies('G4', 'judges every other null by the schema', async () => {
  const refused = async (schema: JsonObject, input: JsonObject) =>
    expect(await send(schema, input).catch((thrown) => thrown.message)).toContain('do not fit');
  await refused(OPTIONAL, { path: null });
  await refused(OPTIONAL, { path: 'x', unknown: null });
  await refused(OPTIONAL, { path: 7, limit: null });
  await refused({ properties: { filter: { properties: { name: { type: 'string' } } } } }, { filter: { name: null } });
  await refused({ properties: { list: { items: { type: 'string' } } } }, { list: [null] });
  // The schema takes this null, and ties a condition to it.
  const tied = { properties: { a: { type: ['string', 'null'] }, b: {} }, dependentRequired: { a: ['b'] } };
  await refused(tied, { a: null });
  await expect(send(tied, { a: null, b: 1 })).resolves.toEqual(text('done'));
});

verifies('G4', 'looks at many nulls within the steps of one check', async () => {
  const names = Array.from({ length: 400 }, (_, index) => `n${index}`);
  const each = { type: 'array', items: { type: 'integer', multipleOf: 1 } };
  const properties = { ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])), list: each };
  const nulls = Object.fromEntries(names.map((name) => [name, null]));
  await expect(send({ properties }, { ...nulls, list: [1] })).resolves.toEqual(text('done'));
  const slow = { allOf: [{ properties: { list: each } }], properties };
  const list = Array.from({ length: 100_000 }, () => 1);
  await expect(send(slow, { ...nulls, list })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

verifies('G4', 'names the hooks, not the caller, if the arguments that they changed do not fit', async () => {
  const target = aTarget({ definition: { name: 'echo', inputSchema: { type: 'object', required: ['message'] } } });
  const call = aCall({ target, input: { msg: 1 }, hooked: { original: { message: 'hi' } } });
  await expect(validated(call)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: 'A hook changed the arguments of mcp__demo__echo, and they do not fit: the input lacks `message`.',
    details: { rule: 'hooks.beforeCall' },
  });
});
