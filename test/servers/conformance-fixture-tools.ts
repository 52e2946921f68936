import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/core/call.ts';
import { form, type Offer, STRING, said, sample, text, textOf, tool } from './conformance-fixture.ts';

/** One red pixel. */
export const IMAGE = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
} as const;
/** No sound at all. */
const AUDIO = {
  type: 'audio',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
} as const;
const STEP_MS = 50;

export const embedded = (uri: string): JsonObject => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: `What is at ${uri}.` },
});

/** Every keyword of JSON Schema 2020-12 that a gateway may lose. */
const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { $anchor: 'address', type: 'object', properties: { street: STRING, city: STRING } },
  },
  properties: {
    name: STRING,
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: STRING,
    email: STRING,
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  // biome-ignore-start lint/suspicious/noThenProperty: a keyword of JSON Schema.
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  // biome-ignore-end lint/suspicious/noThenProperty: a keyword of JSON Schema.
  additionalProperties: false,
};
const WITH_HEADER = {
  type: 'object',
  properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
};

const CONTENT: readonly Offer[] = [
  tool('test_simple_text', 'Says a sentence.', {}, () => said('This is a simple text.')),
  tool('test_image_content', 'Shows an image.', {}, () => ({ content: [IMAGE] })),
  tool('test_audio_content', 'Plays a sound.', {}, () => ({ content: [AUDIO] })),
  tool('test_embedded_resource', 'Hands out a resource.', {}, () => ({ content: [embedded('test://embedded')] })),
  tool('test_multiple_content_types', 'Says it in three ways.', {}, () => ({
    content: [text('Look:'), IMAGE, embedded('test://mixed')],
  })),
  tool('test_error_handling', 'Always fails.', {}, () => ({ ...said('This tool fails on purpose.'), isError: true })),
  tool('test_tool_with_progress', 'Tells how far it is.', {}, async (_input, { progress }) => {
    for (const reached of [0, 50, 100]) {
      progress(reached);
      await pause(STEP_MS);
    }
    return said('Done.');
  }),
  {
    definition: { name: 'json_schema_2020_12_tool', description: 'Takes much.', inputSchema: SCHEMA },
    run: (input) => said(textOf(input)),
  },
  {
    definition: { name: 'test_x_mcp_header', description: 'Works in a region.', inputSchema: WITH_HEADER },
    run: ({ region }) => said(`In ${textOf(region ?? 'no region')}.`),
  },
];

const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const VALUES = [
  { const: 'value1', title: 'First' },
  { const: 'value2', title: 'Second' },
];
const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2'] },
  titledSingle: { type: 'string', oneOf: VALUES },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['First', 'Second'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2'] } },
  titledMulti: { type: 'array', items: { anyOf: VALUES } },
};
const USER = { username: STRING, email: STRING };

/** Those that need the client while they run. */
const ASKING: readonly Offer[] = [
  tool('test_tool_with_logging', 'Logs what it does.', {}, async (_input, { log }) => {
    for (const words of ['It starts.', 'It goes on.', 'It ends.']) {
      log(words);
      await pause(STEP_MS);
    }
    return said('Done.');
  }),
  tool('test_sampling', 'Asks the model.', { prompt: STRING }, async ({ prompt }, round) => {
    const { answer } = await round.ask({ answer: sample(textOf(prompt)) });
    return said(`The model says: ${textOf(answer?.content)}`);
  }),
  tool('test_elicitation', 'Asks the user.', { message: STRING }, async ({ message }, round) => {
    const { user } = await round.ask({ user: form(textOf(message), USER, ['username', 'email']) });
    return said(`The user says: ${textOf(user)}`);
  }),
  tool('test_elicitation_sep1034_defaults', 'Asks with defaults.', {}, async (_input, round) => {
    const { answers } = await round.ask({ answers: form('Is that right?', DEFAULTS) });
    return said(`The user says: ${textOf(answers)}`);
  }),
  tool('test_elicitation_sep1330_enums', 'Asks to choose.', {}, async (_input, round) => {
    const { chosen } = await round.ask({ chosen: form('Which of them?', ENUMS) });
    return said(`The user says: ${textOf(chosen)}`);
  }),
  tool('test_reconnection', 'Answers only who comes back for it.', {}, async (_input, { hangUp }) => {
    hangUp();
    await pause(2 * STEP_MS);
    return said('You came back.');
  }),
];

/** Those that show how a call without a session is treated. */
const DIAGNOSTIC: readonly Offer[] = [
  tool('test_missing_capability', 'Needs a model.', {}, async (_input, round) => {
    const { answer } = await round.ask({ answer: sample('Anything?') });
    return said(textOf(answer));
  }),
  tool('test_streaming_elicitation', 'Asks the user.', {}, async (_input, round) => {
    const { user } = await round.ask({ user: form('Who are you?', { name: STRING }) });
    return said(textOf(user));
  }),
  tool('test_logging_tool', 'Logs a line.', {}, (_input, { log }) => {
    log('Nobody has to hear this.');
    return said('Done.');
  }),
  tool('test_trigger_tool_change', 'Changes the list of tools.', {}, (_input, { changed }) => {
    changed('tools');
    return said('Changed.');
  }),
  tool('test_trigger_prompt_change', 'Changes the list of prompts.', {}, (_input, { changed }) => {
    changed('prompts');
    return said('Changed.');
  }),
];

/** The first of them answers to no arguments: the suite tries its headers on it. */
export const TOOLS: readonly Offer[] = [...CONTENT, ...ASKING, ...DIAGNOSTIC];
