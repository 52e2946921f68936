import type { JsonObject } from '../../src/core/call.ts';
import { type Entry, text, textOf } from './conformance-fixture.ts';
import { INPUT_PROMPT } from './conformance-fixture-input.ts';
import { embedded, IMAGE } from './conformance-fixture-tools.ts';

interface Resource {
  readonly definition: JsonObject & { readonly uri: string };
  readonly content: JsonObject;
}

function resource(uri: string, name: string, content: JsonObject & { readonly mimeType: string }): Resource {
  return { definition: { uri, name, mimeType: content.mimeType }, content: { uri, ...content } };
}

export const RESOURCES: readonly Resource[] = [
  resource('test://static-text', 'Text', { mimeType: 'text/plain', text: 'The text of a resource.' }),
  resource('test://static-binary', 'Image', { mimeType: IMAGE.mimeType, blob: IMAGE.data }),
  resource('test://watched-resource', 'Watched', { mimeType: 'text/plain', text: 'It may change.' }),
];

export const TEMPLATES: readonly JsonObject[] = [
  { uriTemplate: 'test://template/{id}/data', name: 'Record', mimeType: 'application/json' },
];

/** Reads the resource at a URI; undefined if there is none. */
export function readResource(uri: unknown): JsonObject | undefined {
  const found = RESOURCES.find(({ definition }) => definition.uri === uri);
  if (found) return { contents: [found.content] };
  const id = typeof uri === 'string' ? /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1] : undefined;
  if (id === undefined) return undefined;
  return { contents: [{ uri: String(uri), mimeType: 'application/json', text: JSON.stringify({ id }) }] };
}

function prompt(name: string, required: readonly string[], content: (input: JsonObject) => JsonObject): Entry {
  const list = required.map((argument) => ({ name: argument, description: 'A required argument.', required: true }));
  return {
    definition: { name, description: 'A prompt to try.', ...(list.length > 0 && { arguments: list }) },
    run: (input) => ({ messages: [{ role: 'user', content: content(input) }] }),
  };
}

export const PROMPTS: readonly Entry[] = [
  prompt('test_simple_prompt', [], () => text('Say something simple.')),
  prompt('test_prompt_with_arguments', ['arg1', 'arg2'], ({ arg1, arg2 }) =>
    text(`Compare ${textOf(arg1)} with ${textOf(arg2)}.`),
  ),
  prompt('test_prompt_with_embedded_resource', ['resourceUri'], ({ resourceUri }) => embedded(textOf(resourceUri))),
  prompt('test_prompt_with_image', [], () => IMAGE),
  INPUT_PROMPT,
];

/** Completes an argument with every known value that starts with the typed text. */
export function complete({ argument }: JsonObject): JsonObject {
  const typed = textOf((argument as JsonObject | undefined)?.value ?? '');
  const values = ['testValue1', 'testValue2', 'other'].filter((word) => word.startsWith(typed));
  return { completion: { values, total: values.length, hasMore: false } };
}
