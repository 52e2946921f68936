import { type Field, readForm, wrongValue } from '../../core/call/form.ts';
import type { InputRequests } from '../../core/call/run-to-completion.ts';
import type { InputRequest, InputResponse, InputResponses, Json, JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { oneLine } from '../../core/text/visible-text.ts';
import { indented } from '../print/escape-control.ts';
import { notice } from '../print/print-line.ts';
import { type Conversation, canAsk, openConversation } from './ask.ts';

type Action = 'accept' | 'decline' | 'cancel';

/**
 * Asks the user at the terminal for each input request in turn. Without a terminal it declines all of them.
 * When the signal aborts, it stops asking and releases the terminal.
 */
export async function askAtTerminal(
  inputRequests: InputRequests,
  server: string,
  signal: AbortSignal,
): Promise<InputResponses> {
  const all = Object.entries(inputRequests);
  if (!canAsk()) return Object.fromEntries(all.map(([key, request]) => [key, decline(server, request)]));
  const conversation = openConversation();
  signal.addEventListener('abort', conversation.close, { once: true });
  if (signal.aborted) conversation.close();
  try {
    const responses: Record<string, InputResponse> = {};
    for (const [key, request] of all) responses[key] = await ask(server, request, conversation);
    return responses;
  } finally {
    signal.removeEventListener('abort', conversation.close);
    conversation.close();
  }
}

function decline(server: string, { params = {} }: InputRequest): InputResponse {
  quote(`${server} asks:`, String(params.message));
  notice(
    'Declined: there is no terminal here to ask at. Run the command in one, or pass what it asks for as arguments.',
  );
  return { action: 'decline' };
}

async function ask(server: string, { params = {} }: InputRequest, conversation: Conversation): Promise<InputResponse> {
  const { mode, url, message, requestedSchema } = params;
  process.stderr.write('\n');
  quote(`${server} asks:`, String(message));
  if (mode === 'url') return { action: await askToOpen(String(url), conversation) };
  const fields = readForm(requestedSchema);
  const action = await askAction('Answer?', 'yes', conversation);
  if (action !== 'accept' || typeof fields === 'string') return { action };
  return { action, content: await askFields(fields, conversation) };
}

async function askFields(fields: readonly Field[], conversation: Conversation): Promise<Record<string, Json>> {
  const content: Record<string, Json> = {};
  for (const field of fields) {
    const value = await askField(field, conversation);
    if (value !== undefined) content[field.name] = value;
  }
  return content;
}

/** Asks the user for the fields of a form. Throws INPUT_INVALID for a form that cannot be asked field by field. */
export async function askForm(schema: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
  const fields = readForm(schema);
  if (typeof fields === 'string') {
    throw new HeddleError('INPUT_INVALID', `The form cannot be shown here: ${fields}`, {
      fix: 'Decide with `heddle approvals approve ID --content JSON`.',
    });
  }
  const conversation = openConversation();
  signal?.addEventListener('abort', conversation.close, { once: true });
  try {
    return await askFields(fields, conversation);
  } finally {
    signal?.removeEventListener('abort', conversation.close);
    conversation.close();
  }
}

/** Shows a URL and asks whether the user has opened it. Heddle never opens it: the user judges the host. */
function askToOpen(url: string, conversation: Conversation): Promise<Action> {
  const { host, href } = new URL(url);
  notice(`It wants you to visit a page on ${host}:`);
  process.stderr.write(`  ${oneLine(href)}\n`); // Not wrapped, so that it can be copied.
  notice('Open it yourself if you trust that host.');
  return askAction('Have you opened it?', 'no', conversation);
}

async function askAction(prompt: string, otherwise: 'yes' | 'no', conversation: Conversation): Promise<Action> {
  const choices = otherwise === 'yes' ? '[Y]es, [n]o, [c]ancel' : '[y]es, [N]o, [c]ancel';
  for (;;) {
    const text = (await conversation.ask(`${prompt} ${choices}:`)).trim().toLowerCase() || otherwise;
    if (/^y(es)?$/.test(text)) return 'accept';
    if (/^(n(o)?|decline)$/.test(text)) return 'decline';
    if (/^c(ancel)?$/.test(text)) return 'cancel';
  }
}

async function askField(field: Field, conversation: Conversation): Promise<Json | undefined> {
  if (field.description !== undefined) process.stderr.write(`${indented(field.description, process.stderr)}\n`);
  for (const [at, { title, value }] of field.choices.entries()) {
    notice(`  ${at + 1}  ${oneLine(title)}${title === value ? '' : ` (${oneLine(value)})`}`);
  }
  for (;;) {
    const text = (await conversation.ask(`${labelOf(field)}:`)).trim();
    if (text === '' && (field.default !== undefined || !field.required)) return field.default;
    const value = readValue(field, text);
    const wrong = value === undefined ? `has to be ${expected(field)}` : wrongValue(field, value);
    if (wrong === undefined) return value;
    notice(`  That does not fit: ${oneLine(field.title ?? field.name)} ${oneLine(wrong)}.`);
  }
}

function labelOf(field: Field): string {
  const preset = field.default === undefined ? '' : ` [${shown(field, field.default)}]`;
  const optional = field.required || field.default !== undefined ? '' : ', may be left empty';
  return oneLine(`${field.title ?? field.name} (${expected(field)}${optional})${preset}`);
}

/** Formats a default as the user would type it: choices by their numbers. */
function shown({ choices }: Field, value: Json): string {
  const numbers = [value].flat().map((one) => 1 + choices.findIndex((choice) => choice.value === one));
  if (choices.length > 0 && !numbers.includes(0)) return numbers.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function expected({ kind, format, choices, min, max }: Field): string {
  const bounds = [min !== undefined && `at least ${min}`, max !== undefined && `at most ${max}`].filter(Boolean);
  const within = bounds.length === 0 ? '' : `, ${bounds.join(', ')}`;
  switch (kind) {
    case 'boolean':
      return 'yes or no';
    case 'choice':
      return `1 to ${choices.length}`;
    case 'choices':
      return `some of 1 to ${choices.length}, with commas${within}`;
    case 'text':
      return `${format ?? 'text'}${bounds.length === 0 ? '' : `${within} characters`}`;
    default:
      return `${kind === 'integer' ? 'whole number' : 'number'}${within}`;
  }
}

/** Parses the typed text for a field; undefined if it does not fit the kind of the field. */
function readValue(field: Field, text: string): Json | undefined {
  switch (field.kind) {
    case 'boolean':
      return /^(y(es)?|true)$/i.test(text) ? true : /^(n(o)?|false)$/i.test(text) ? false : undefined;
    case 'choice':
      return chosen(field, text);
    case 'choices': {
      const all = text === '' ? [] : text.split(',').map((one) => chosen(field, one.trim()));
      return all.every((one) => one !== undefined) ? all : undefined;
    }
    case 'text':
      return text;
    default:
      return text === '' || Number.isNaN(Number(text)) ? undefined : Number(text);
  }
}

function chosen({ choices }: Field, text: string): string | undefined {
  const named = choices.find(({ value }) => value === text);
  return (named ?? choices[Number(text) - 1])?.value;
}

function quote(start: string, text: string): void {
  notice(start);
  process.stderr.write(`${indented(text, process.stderr)}\n`);
}
