import { setTimeout as pause } from 'node:timers/promises';
import type { JsonObject } from '../../src/core/call.ts';
import { type Entry, form, STRING, sample, text, textOf, textResult, tool } from './conformance-fixture.ts';

/** A PNG image of a red pixel. */
export const IMAGE = {
  type: 'image',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==',
  mimeType: 'image/png',
} as const;
/** A WAV file without samples. */
const AUDIO = {
  type: 'audio',
  data: 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=',
  mimeType: 'audio/wav',
} as const;
const STEP_MS = 50;

export const embedded = (uri: string): JsonObject => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: `The text of ${uri}.` },
});

/** A schema with the JSON Schema 2020-12 keywords that a gateway could drop. */
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

const CONTENT: readonly Entry[] = [
  tool('test_simple_text', 'Says a sentence.', {}, () => textResult('This is a simple text.')),
  tool('test_image_content', 'Shows an image.', {}, () => ({ content: [IMAGE] })),
  tool('test_audio_content', 'Plays a sound.', {}, () => ({ content: [AUDIO] })),
  tool('test_embedded_resource', 'Returns an embedded resource.', {}, () => ({
    content: [embedded('test://embedded')],
  })),
  tool('test_multiple_content_types', 'Returns three types of content.', {}, () => ({
    content: [text('An image:'), IMAGE, embedded('test://mixed')],
  })),
  tool('test_error_handling', 'Always fails.', {}, () => ({
    ...textResult('This tool fails on purpose.'),
    isError: true,
  })),
  tool('test_tool_with_progress', 'Sends progress.', {}, async (_input, { progress }) => {
    for (const reached of [0, 50, 100]) {
      progress(reached);
      await pause(STEP_MS);
    }
    return textResult('Done.');
  }),
  {
    definition: { name: 'json_schema_2020_12_tool', description: 'Takes much.', inputSchema: SCHEMA },
    run: (input) => textResult(textOf(input)),
  },
  {
    definition: { name: 'test_x_mcp_header', description: 'Works in a region.', inputSchema: WITH_HEADER },
    run: ({ region }) => textResult(`In ${textOf(region ?? 'no region')}.`),
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

/** Tools that send messages to the client while they run. */
const INTERACTIVE: readonly Entry[] = [
  tool('test_tool_with_logging', 'Logs what it does.', {}, async (_input, { log }) => {
    for (const message of ['It starts.', 'It goes on.', 'It ends.']) {
      log(message);
      await pause(STEP_MS);
    }
    return textResult('Done.');
  }),
  tool('test_sampling', 'Asks the model.', { prompt: STRING }, async ({ prompt }, context) => {
    const { answer } = await context.requestInput({ answer: sample(textOf(prompt)) });
    return textResult(`The model says: ${textOf(answer?.content)}`);
  }),
  tool('test_elicitation', 'Asks the user.', { message: STRING }, async ({ message }, context) => {
    const { user } = await context.requestInput({ user: form(textOf(message), USER, ['username', 'email']) });
    return textResult(`The user says: ${textOf(user)}`);
  }),
  tool('test_elicitation_sep1034_defaults', 'Asks with defaults.', {}, async (_input, context) => {
    const { answers } = await context.requestInput({ answers: form('Is that right?', DEFAULTS) });
    return textResult(`The user says: ${textOf(answers)}`);
  }),
  tool('test_elicitation_sep1330_enums', 'Asks to choose.', {}, async (_input, context) => {
    const { chosen } = await context.requestInput({ chosen: form('Which of them?', ENUMS) });
    return textResult(`The user says: ${textOf(chosen)}`);
  }),
  tool('test_reconnection', 'Closes its stream before it returns.', {}, async (_input, { closeStream }) => {
    closeStream();
    await pause(2 * STEP_MS);
    return textResult('The client has reconnected.');
  }),
];

/** Tools that show how the gateway treats a call without a session. */
const DIAGNOSTIC: readonly Entry[] = [
  tool('test_missing_capability', 'Needs a model.', {}, async (_input, context) => {
    const { answer } = await context.requestInput({ answer: sample('Anything?') });
    return textResult(textOf(answer));
  }),
  tool('test_streaming_elicitation', 'Asks the user.', {}, async (_input, context) => {
    const { user } = await context.requestInput({ user: form('Who are you?', { name: STRING }) });
    return textResult(textOf(user));
  }),
  tool('test_logging_tool', 'Logs a message.', {}, (_input, { log }) => {
    log('A message of level info.');
    return textResult('Done.');
  }),
  tool('test_trigger_tool_change', 'Changes the list of tools.', {}, (_input, { changeList }) => {
    changeList('tools');
    return textResult('Changed.');
  }),
  tool('test_trigger_prompt_change', 'Changes the list of prompts.', {}, (_input, { changeList }) => {
    changeList('prompts');
    return textResult('Changed.');
  }),
];

/** All tools. The suite checks headers with the first, which must need no arguments. */
export const TOOLS: readonly Entry[] = [...CONTENT, ...INTERACTIVE, ...DIAGNOSTIC];
