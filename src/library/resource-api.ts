import type { JsonObject, Target, TargetKind } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import type { Heddle, ListQuery } from '../heddle.ts';
import type { HostOptions } from './host-input.ts';
import { type CallOptions, type CallResult, PROGRAM, send, toLibraryCall } from './library-call.ts';

interface Readable {
  /** Who has it. */
  readonly server: string;
  /** Exactly as its server wrote it. */
  readonly definition: JsonObject;
  /** What a person should know before trusting it. */
  readonly flags: readonly string[];
}

/** Something that can be read, at the URI it is read by. */
export interface Resource extends Readable {
  readonly uri: string;
}

/** A pattern of URIs that can be read (RFC 6570). */
export interface ResourceTemplate extends Readable {
  readonly uriTemplate: string;
}

/** A prompt, under the name it is got by. */
export interface Prompt extends Readable {
  readonly name: string;
}

/** What was read. `cached`: the server said before that it stays good, and was not asked again. */
export type ReadResult = Omit<CallResult, 'isError'>;

/** A resource has changed: `uri` as it was subscribed to, or of a part of it. */
export type Update = JsonObject & { readonly uri: string };

/** What an argument belongs to that is being typed: a prompt's name, or a resource template. */
export type CompletionRef = { readonly prompt: string } | { readonly template: string };

/** What a program reads beside calling tools. Every read passes the same pipeline as a call. */
export interface ResourceApi {
  /** All resources, or those of one server. A URI that several servers have is said with the server's name. */
  resources(filter?: { readonly server?: string }): Promise<readonly Resource[]>;
  resourceTemplates(filter?: { readonly server?: string }): Promise<readonly ResourceTemplate[]>;
  /**
   * Reads a URI that is listed, fits a template, or says whose it is as `heddle://<server>/<uri>`. Throws `HeddleError`.
   *
   * @example
   * const { value } = await heddle.readResource('file:///notes/today.md');
   */
  readResource(uri: string, options?: CallOptions): Promise<ReadResult>;
  /** Hears whenever a resource changes, over reconnects, until the function that comes back is called. */
  subscribe(uri: string, handler: (update: Update) => void | Promise<void>): Promise<() => void>;
  prompts(filter?: { readonly server?: string }): Promise<readonly Prompt[]>;
  /** Gets a prompt by public name, `server.prompt`, or its own name where only one has it. */
  getPrompt(name: string, args?: Readonly<Record<string, string>>, options?: CallOptions): Promise<ReadResult>;
  /** What may be meant by the beginning of an argument; `settled` are the arguments that are typed already. */
  complete(
    of: CompletionRef,
    argument: { readonly name: string; readonly value: string },
    settled?: Readonly<Record<string, string>>,
  ): Promise<ReadResult>;
}

export function resourceApi(heddle: Heddle, host: HostOptions): ResourceApi {
  const read = async (what: Parameters<typeof toLibraryCall>[0], options: CallOptions = {}): Promise<ReadResult> => {
    const { isError: _, ...result } = await send(heddle, toLibraryCall(what, options), host);
    return result;
  };
  return {
    resources: async (filter) =>
      (await listAll(heddle, 'resource', filter)).map((target) => ({ uri: target.publicName, ...readable(target) })),
    resourceTemplates: async (filter) =>
      (await listAll(heddle, 'template', filter)).map((target) => ({
        uriTemplate: target.publicName,
        ...readable(target),
      })),
    readResource: (name, options) => read({ kind: 'resource', name, input: {} }, options),
    async subscribe(name, handler) {
      const ended = new AbortController();
      const report = async (update: JsonObject) => handler(withPlainNumbers(update) as Update);
      const call = toLibraryCall({ kind: 'subscription', name, input: {} }, { signal: ended.signal });
      // Whoever handles an update answers for it; here nobody is left who could be told.
      await heddle.dispatch({ ...call, onProgress: (update) => void report(update).catch(() => {}) });
      return () => ended.abort();
    },
    prompts: async (filter) =>
      (await listAll(heddle, 'prompt', filter)).map((target) => ({ name: target.publicName, ...readable(target) })),
    getPrompt: (name, args = {}, options) => read({ kind: 'prompt', name, input: args }, options),
    async complete(of, argument, settled) {
      const [name, ref] = referred(of);
      const context = settled && { context: { arguments: settled } };
      return read({ kind: 'completion', name, input: { ref, argument, ...context } });
    },
  };
}

/** Every page of one kind. */
export async function listAll(
  heddle: Heddle,
  kind: TargetKind,
  { server, category }: Pick<ListQuery, 'server' | 'category'> = {},
): Promise<readonly Target[]> {
  const query = { kind, ...(server !== undefined && { server }), ...(category !== undefined && { category }) };
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

function referred(of: CompletionRef): readonly [string, JsonObject] {
  if ('prompt' in of) return [of.prompt, { type: 'ref/prompt', name: of.prompt }];
  if ('template' in of) return [of.template, { type: 'ref/resource', uri: of.template }];
  throw new HeddleError('INPUT_INVALID', 'A completion is of a `prompt` or of a `template`.');
}
