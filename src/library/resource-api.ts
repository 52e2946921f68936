import type { CatalogKind, JsonObject, Provenance, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Heddle, ListQuery } from '../heddle.ts';
import { checkOptions, type OptionKeys, SIGNAL_KEYS, type SignalOptions } from './check-options.ts';
import type { HostOptions } from './host-input.ts';
import { CALL_KEYS, type CallOptions, send, toLibraryCall } from './library-call.ts';
import type { CompletionResult, GetPromptResult, ReadResourceResult } from './mcp-results.ts';
import { PROGRAM } from './program.ts';

interface Readable {
  /** The server that has it. */
  readonly server: string;
  /** The definition exactly as its server wrote it. */
  readonly definition: JsonObject;
  /** Warnings for a person, such as `looks-like: <public name>`. */
  readonly flags: readonly string[];
}

/** A resource, with the URI to read it by. */
export interface Resource extends Readable {
  readonly uri: string;
}

/** A template of resource URIs (RFC 6570). */
export interface ResourceTemplate extends Readable {
  readonly uriTemplate: string;
}

/** A prompt, with the name to get it by. */
export interface Prompt extends Readable {
  readonly name: string;
}

/** The result of a read. `cached` is true if the server's earlier result was still valid and no request was sent. */
export interface ReadResult<T extends JsonObject = JsonObject> extends Provenance {
  readonly value: T;
}

/** An update of a subscribed resource. `uri` is the subscribed URI or that of a sub-resource. */
export type Update = JsonObject & { readonly uri: string };

/** The owner of an argument to complete: a prompt by name, or a resource template. */
export type CompletionRef = { readonly prompt: string } | { readonly template: string };

/** Limits a list to one server. `signal` ends the wait for servers never seen. */
export interface ServerFilter {
  readonly server?: string;
  readonly signal?: AbortSignal;
}

export interface CompleteOptions extends CallOptions {
  /** Values of the other arguments, as far as they are known. */
  readonly arguments?: Readonly<Record<string, string>>;
}

const FILTER_KEYS: OptionKeys<ServerFilter> = { server: true, signal: true };
const COMPLETE_KEYS: OptionKeys<CompleteOptions> = { ...CALL_KEYS, arguments: true };

/** Resources, prompts and completions. Every read passes the same stages as a tool call. */
export interface ResourceApi {
  /** Lists resources. A URI that several servers have is listed as `heddle://<server>/<uri>`. */
  resources(filter?: ServerFilter): Promise<readonly Resource[]>;
  resourceTemplates(filter?: ServerFilter): Promise<readonly ResourceTemplate[]>;
  /**
   * Reads a URI that is listed, matches a template, or names its server as `heddle://<server>/<uri>`. Throws `HeddleError`.
   *
   * @example
   * const { value } = await heddle.readResource('file:///notes/today.md');
   */
  readResource(uri: string, options?: CallOptions): Promise<ReadResult<ReadResourceResult>>;
  /** Calls `handler` after each change of a resource, across reconnects. The returned function ends that, and so does `signal`. */
  subscribe(
    uri: string,
    handler: (update: Update) => void | Promise<void>,
    options?: SignalOptions,
  ): Promise<() => void>;
  prompts(filter?: ServerFilter): Promise<readonly Prompt[]>;
  /** Gets a prompt by public name, `server.prompt`, or its own name if only one server has it. */
  getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<ReadResult<GetPromptResult>>;
  /** Suggests values for an argument whose beginning is typed. */
  complete(
    ref: CompletionRef,
    argument: { readonly name: string; readonly value: string },
    options?: CompleteOptions,
  ): Promise<ReadResult<CompletionResult>>;
}

export function resourceApi(heddle: Heddle, host: HostOptions): ResourceApi {
  async function read<T extends JsonObject>(
    request: Parameters<typeof toLibraryCall>[0],
    options: CallOptions,
  ): Promise<ReadResult<T>> {
    const { isError: _, value, ...provenance } = await send(heddle, toLibraryCall(request, options), host);
    return { ...provenance, value: value as T };
  }
  return {
    async resources(filter) {
      const targets = await listAll(heddle, 'resource', checkOptions('resources', filter, FILTER_KEYS));
      return targets.map((target) => ({ uri: target.publicName, ...readable(target) }));
    },
    async resourceTemplates(filter) {
      const targets = await listAll(heddle, 'template', checkOptions('resourceTemplates', filter, FILTER_KEYS));
      return targets.map((target) => ({ uriTemplate: target.publicName, ...readable(target) }));
    },
    readResource: async (name, options) =>
      read({ kind: 'resource', name, input: {} }, checkOptions('readResource', options, CALL_KEYS)),
    async subscribe(name, handler, subscribeOptions) {
      const options = checkOptions('subscribe', subscribeOptions, SIGNAL_KEYS);
      const ended = new AbortController();
      const signal = options.signal ? AbortSignal.any([options.signal, ended.signal]) : ended.signal;
      const onUpdate = async (update: JsonObject) => handler(withPlainNumbers(update) as Update);
      const call = toLibraryCall({ kind: 'subscription', name, input: {} }, { signal });
      // Errors of the handler are the program's own: no request is open that could report them.
      await send(heddle, { ...call, onProgress: (update) => void onUpdate(update).catch(() => {}) }, host);
      return () => ended.abort();
    },
    async prompts(filter) {
      const targets = await listAll(heddle, 'prompt', checkOptions('prompts', filter, FILTER_KEYS));
      return targets.map((target) => ({ name: target.publicName, ...readable(target) }));
    },
    getPrompt: async (name, args = {}, options) =>
      read({ kind: 'prompt', name, input: args }, checkOptions('getPrompt', options, CALL_KEYS)),
    async complete(ref, argument, completeOptions) {
      const { arguments: known, ...options } = checkOptions('complete', completeOptions, COMPLETE_KEYS);
      const [name, reference] = toReference(ref);
      const context = known && { context: { arguments: known } };
      return read({ kind: 'completion', name, input: { ref: reference, argument, ...context } }, options);
    },
  };
}

/** Lists all pages of one kind. */
export async function listAll(
  heddle: Heddle,
  kind: CatalogKind,
  { server, category, signal }: Pick<ListQuery, 'server' | 'category' | 'signal'> = {},
): Promise<readonly Target[]> {
  const query = { kind, signal, ...(server !== undefined && { server }), ...(category !== undefined && { category }) };
  const targets: Target[] = [];
  let cursor: string | undefined;
  do {
    const page = await heddle.catalog.list(PROGRAM, cursor === undefined ? query : { ...query, cursor });
    for (const target of page.items) targets.push(target);
    cursor = page.next;
  } while (cursor !== undefined);
  return targets;
}

const readable = ({ servers: [server], definition, flags }: Target): Readable => ({ server, definition, flags });

function toReference(ref: CompletionRef): readonly [string, JsonObject] {
  if ('prompt' in ref) return [ref.prompt, { type: 'ref/prompt', name: ref.prompt }];
  if ('template' in ref) return [ref.template, { type: 'ref/resource', uri: ref.template }];
  throw new HeddleError('INPUT_INVALID', 'A completion needs a `prompt` or a `template`.');
}
