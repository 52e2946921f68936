import * as z from 'zod';
import { apiKeys, auth, permissions, profiles } from './access-schema.ts';
import { SETTING_DEFAULTS } from './defaults.ts';
import {
  connectTimeout,
  rate,
  type remoteEntry,
  type sdkEntry,
  serverEntry,
  type stdioEntry,
} from './server-schema.ts';

const { builtins: BUILTINS, connect: CONNECT, gateway: GATEWAY, sampling: SAMPLING } = SETTING_DEFAULTS;
const FILES = BUILTINS.filesystem;
const NO_FOLDER = /^(?!file:)[a-z][a-z0-9+.-]+:\/\//i;
const FOREIGN_SCHEME = /^(?!postgres(?:ql)?:)[a-z][a-z0-9+.-]+:\/\//i;

const filesystem = z.strictObject({
  enabled: z.boolean().default(FILES.enabled).describe('Whether the built-in file tools are offered.'),
  allowedPaths: z
    .array(z.string().min(1))
    .exactOptional()
    .describe('Folders the file tools may touch; the project folder when left out.'),
  maxFileBytes: z.int().positive().default(FILES.maxFileBytes).describe('Largest file that is read or written.'),
});

const connect = z.strictObject({
  localConcurrency: z.int().positive().default(CONNECT.localConcurrency).describe('Programs started at the same time.'),
  remoteConcurrency: z
    .int()
    .positive()
    .default(CONNECT.remoteConcurrency)
    .describe('Remote servers connected at the same time.'),
  timeoutMs: connectTimeout
    .exactOptional()
    .describe(
      'How long the handshake and each request for a list may take; 15000 when left out, 60000 for commands that may install the server (npx, uvx, docker run, …).',
    ),
});

const sampling = z.strictObject({
  maxCalls: z
    .int()
    .nonnegative()
    .default(SAMPLING.maxCalls)
    .describe('How often one server may ask in one window; 0 means never.'),
  windowMs: z.int().positive().default(SAMPLING.windowMs).describe('Length of the window in milliseconds.'),
  maxTokens: z.int().positive().default(SAMPLING.maxTokens).describe('The most that is written for one request.'),
});

const gateway = z.strictObject({
  host: z.string().min(1).default(GATEWAY.host).describe('Address the gateway listens on.'),
  port: z.int().min(0).max(65535).default(GATEWAY.port).describe('Port the gateway listens on; 0 takes a free one.'),
  allowedHosts: z.array(z.string().min(1)).default([]).describe('Further Host headers to accept.'),
  allowedOrigins: z.array(z.string().min(1)).default([]).describe('Web origins whose pages may call the gateway.'),
  maxBodyBytes: z.int().positive().default(GATEWAY.maxBodyBytes).describe('Largest request body.'),
  auth,
  apiKeys,
});

const connector = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'must be letters, digits, `-` and `_`')
    .describe('What the connector is called.'),
  url: z.url({ protocol: /^https?$/ }).describe('Address that answers with `{ "mcpServers": … }`.'),
  token: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be a token without spaces')
    .exactOptional()
    .describe('Bearer token sent to it.'),
  variables: z
    .array(
      z
        .string()
        .regex(
          /^(?!HEDDLE_)(?:[A-Z_][A-Z0-9_]*|secret:.+)$/i,
          'must be a variable, `secret:name`, `workspaceFolder` or `userHome`, and none that begins with `HEDDLE_`',
        ),
    )
    .exactOptional()
    .describe('What its answer may use as `${…}`: variables, `secret:name`, `workspaceFolder`, `userHome`.'),
});

/** The whole of `heddle.json`: types, defaults and validation all come from here. */
export const configSchema = z.strictObject({
  $schema: z.string().exactOptional().describe('Where editors find the JSON Schema of this file.'),
  mcpServers: z.record(z.string(), serverEntry).default({}).describe('The servers, by name.'),
  builtins: z
    .strictObject({ filesystem: filesystem.prefault({}).describe('The built-in file tools.') })
    .prefault({})
    .describe('Servers that come with Heddle.'),
  mode: z
    .enum(['guarded', 'strict', 'open'])
    .default(SETTING_DEFAULTS.mode)
    .describe('What happens when no rule matches: risky calls ask, every external call asks, or nothing asks.'),
  permissions: permissions.prefault({}).describe('Rules by tool name, `mcp__server` or `mcp__server__*`.'),
  limits: z
    .strictObject({ perCaller: rate.exactOptional().describe('How often one caller may call.') })
    .prefault({})
    .describe('Limits on calls.'),
  connect: connect.prefault({}).describe('How many servers connect at once, and how long each may take.'),
  gateway: gateway.prefault({}).describe('The MCP endpoint of `heddle up`.'),
  profiles,
  roots: z
    .array(
      z
        .string()
        .min(1)
        .refine((root) => !NO_FOLDER.test(root), 'must be a folder or a file:// URI'),
    )
    .default([])
    .describe('Folders, or file:// URIs, that servers are told they may work in; a client’s own roots come first.'),
  sampling: sampling.prefault({}).describe('How much servers may let the user’s model write, where there is one.'),
  connectors: z.array(connector).default([]).describe('Addresses that more servers are read from.'),
  store: z
    .string()
    .min(1)
    .refine((value) => !FOREIGN_SCHEME.test(value), 'must be a path or a postgres:// URL')
    .exactOptional()
    .describe('Where Heddle remembers things: a SQLite file, or a postgres:// URL.'),
});

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type StdioEntry = Frozen<z.output<typeof stdioEntry>>;
export type RemoteEntry = Frozen<z.output<typeof remoteEntry>>;
export type SdkEntry = Frozen<z.output<typeof sdkEntry>>;
export type ServerEntry = StdioEntry | RemoteEntry | SdkEntry;

type Written = z.output<typeof configSchema>;
/** Everything but the servers, defaults filled and paths absolute. */
export type Settings = Frozen<
  Omit<Written, '$schema' | 'mcpServers' | 'builtins'> & {
    builtins: { filesystem: Required<Written['builtins']['filesystem']> };
  }
>;

export type Profile = Settings['profiles'][string];

/**
 * The path of every setting that is one value. An object without defaults is one value too:
 * half a rate from one file and half from another would be a rate that nobody wrote.
 */
export const settingPaths: readonly (readonly string[])[] = valuePaths(configSchema, []).filter(
  ([first]) => first !== '$schema' && first !== 'mcpServers' && first !== 'connectors',
);

function valuePaths(schema: z.core.$ZodType, path: readonly string[]): readonly (readonly string[])[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) return [path];
  return Object.entries(inner.shape).flatMap(([key, value]) => valuePaths(value as z.core.$ZodType, [...path, key]));
}
