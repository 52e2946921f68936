import * as z from 'zod';
import { approvals, budgets, hookSettings, permissions, policies, profiles } from './access-schema.ts';
import { apiKeys, gatewayAuth } from './auth-schema.ts';
import { builtins } from './builtin-schema.ts';
import { SETTING_DEFAULTS } from './defaults.ts';
import {
  connectTimeout,
  rate,
  type remoteEntry,
  type sdkEntry,
  serverEntry,
  type stdioEntry,
} from './server-schema.ts';

const { connect: CONNECT, gateway: GATEWAY, sampling: SAMPLING } = SETTING_DEFAULTS;
const NO_FOLDER = /^(?!file:)[a-z][a-z0-9+.-]+:\/\//i;
const FOREIGN_SCHEME = /^(?!postgres(?:ql)?:)[a-z][a-z0-9+.-]+:\/\//i;

const connect = z.strictObject({
  localConcurrency: z.int().positive().default(CONNECT.localConcurrency).describe('Programs started at the same time.'),
  remoteConcurrency: z
    .int()
    .positive()
    .default(CONNECT.remoteConcurrency)
    .describe('Remote servers connected at the same time.'),
  firstListMs: z
    .int()
    .min(0)
    .max(60_000)
    .default(CONNECT.firstListMs)
    .describe(
      'Longest wait of a list for a server of which nothing is known yet, from the begin of its connect. Lists wait for 2000 in any case.',
    ),
  timeoutMs: connectTimeout
    .exactOptional()
    .describe(
      'Timeout of the handshake and of each list request. If absent: 15000, or 60000 for commands that may install the server (npx, uvx, docker run, …).',
    ),
});

const sampling = z.strictObject({
  permission: z
    .enum(['allow', 'ask', 'deny'])
    .default(SAMPLING.permission)
    .describe('Effect on sampling requests of servers. `ask` waits for an approver with each of them.'),
  maxCalls: z
    .int()
    .nonnegative()
    .default(SAMPLING.maxCalls)
    .describe('Sampling requests that one server may make per window; 0 means none.'),
  windowMs: z.int().positive().default(SAMPLING.windowMs).describe('Length of the window in milliseconds.'),
  maxTokens: z.int().positive().default(SAMPLING.maxTokens).describe('Largest `maxTokens` of one sampling request.'),
});

const LOOPBACK_HTTP = /^http:\/\/(localhost|127(\.\d+){3}|\[::1\])(:\d+)?(\/|$)/;
const publicUrl = z
  .url({ protocol: /^https?$/ })
  .refine((url) => url.startsWith('https://') || LOOPBACK_HTTP.test(url), 'must be https, or http on this machine')
  .refine((url) => !/[?#]/.test(url), 'must have neither a query nor a fragment');

const { unsent: UNSENT } = GATEWAY;
const unsent = z.strictObject({
  connectionBytes: z
    .int()
    .positive()
    .default(UNSENT.connectionBytes)
    .describe(
      'Most bytes that one connection may leave unread. A larger first message is sent nevertheless, within the other limits.',
    ),
  callerBytes: z
    .int()
    .positive()
    .default(UNSENT.callerBytes)
    .describe(
      'Most unread bytes of one caller. Over it, connections that are not read are closed; at 1.5 times as many, any of its connections.',
    ),
  totalBytes: z.int().positive().default(UNSENT.totalBytes).describe('Most unread bytes of all callers.'),
  timeoutMs: z
    .int()
    .positive()
    .max(3_600_000)
    .default(UNSENT.timeoutMs)
    .describe('Time in which a client has to take a byte of what it left unread, in milliseconds.'),
});

const gateway = z.strictObject({
  host: z.string().min(1).default(GATEWAY.host).describe('Address the gateway listens on.'),
  port: z.int().min(0).max(65535).default(GATEWAY.port).describe('Port the gateway listens on; 0 takes a free one.'),
  publicUrl: publicUrl
    .exactOptional()
    .describe('Address at which browsers reach the gateway: https, or http on this machine. Sign-in pages use it.'),
  allowedHosts: z.array(z.string().min(1)).default([]).describe('Further Host headers to accept.'),
  allowedOrigins: z.array(z.string().min(1)).default([]).describe('Web origins whose pages may call the gateway.'),
  maxBodyBytes: z.int().positive().default(GATEWAY.maxBodyBytes).describe('Largest request body.'),
  unsent: unsent
    .prefault({})
    .describe('Limits on response bytes that clients do not read. Over a limit a connection is closed.'),
  auth: gatewayAuth,
  apiKeys,
});

const connector = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'must be letters, digits, `-` and `_`')
    .describe('Name of the connector.'),
  url: z.url({ protocol: /^https?$/ }).describe('Address that returns `{ "mcpServers": … }`.'),
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
    .describe('Names that its servers may use as `${…}`: variables, `secret:name`, `workspaceFolder`, `userHome`.'),
});

const xaa = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/ })
    .describe('Identity provider of the organisation, exactly as its metadata names itself.'),
  clientId: z.string().min(1).describe('Client id of Heddle at the provider.'),
  clientSecret: z.string().min(1).exactOptional().describe('Secret of that client.'),
  callbackPort: z.int().min(1).max(65535).exactOptional().describe('Loopback port of the sign-in callback.'),
});

/** The schema of `heddle.json`. Types, defaults and validation come from it. */
export const configSchema = z.strictObject({
  $schema: z.string().exactOptional().describe('Address of the JSON Schema of this file, for editors.'),
  mcpServers: z.record(z.string(), serverEntry).default({}).describe('The servers, by name.'),
  builtins,
  mode: z
    .enum(['guarded', 'strict', 'open'])
    .default(SETTING_DEFAULTS.mode)
    .describe(
      'Calls that need an approval if no rule matches: `guarded` risky ones, `strict` all external ones, `open` none.',
    ),
  permissions: permissions.prefault({}).describe('Rules by tool name, `mcp__server` or `mcp__server__*`.'),
  policies,
  approvals: approvals.prefault({}).describe('Calls that need an approval, and who approves them.'),
  limits: z
    .strictObject({
      perCaller: rate.exactOptional().describe('Rate limit for each caller.'),
      callers: z
        .record(z.string().min(1), rate)
        .default({})
        .describe(
          'Further limits of single callers, such as `key:ci`, and of agents of a program, such as `library/planner`.',
        ),
    })
    .prefault({})
    .describe('Limits on calls.'),
  budgets: budgets.prefault({}).describe('Cost that callers may cause.'),
  hooks: hookSettings
    .prefault({})
    .describe('Programs and webhooks that run before and after calls, input requests and approvals.'),
  audit: z
    .strictObject({
      durability: z
        .enum(['commit', 'disk'])
        .default(SETTING_DEFAULTS.audit.durability)
        .describe('`disk` waits for the disk with each opening record, so that a power failure loses none.'),
    })
    .prefault({})
    .describe('The audit log.'),
  connect: connect.prefault({}).describe('Concurrency and timeout of connecting to servers.'),
  gateway: gateway.prefault({}).describe('The MCP endpoint of `heddle up`.'),
  profiles,
  workflows: z
    .record(z.string().min(1).max(128), z.union([z.string().min(1), z.record(z.string(), z.unknown())]))
    .default(SETTING_DEFAULTS.workflows)
    .describe('Workflows by name: a definition, or the path of a file with one, relative to this file.'),
  roots: z
    .array(
      z
        .string()
        .min(1)
        .refine((root) => !NO_FOLDER.test(root), 'must be a folder or a file:// URI'),
    )
    .default([])
    .describe('Folders or file:// URIs that servers get as MCP roots, after the client’s own roots.'),
  sampling: sampling.prefault({}).describe('Limits on sampling requests of servers.'),
  xaa: xaa
    .exactOptional()
    .describe('Cross-app access: one sign-in at this provider serves every server with `oauth.xaa`.'),
  connectors: z.array(connector).default([]).describe('Addresses that list further servers.'),
  store: z
    .string()
    .min(1)
    .refine((value) => !FOREIGN_SCHEME.test(value), 'must be a path or a postgres:// URL')
    .exactOptional()
    .describe('Database of Heddle: the path of a SQLite file, or a postgres:// URL.'),
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
/** The settings of the built-in servers as files set them. */
export type WrittenBuiltins = Frozen<Written['builtins']>;
/** All settings except the servers, with defaults and absolute paths. */
export type Settings = Frozen<
  Omit<Written, '$schema' | 'mcpServers' | 'builtins'> & {
    builtins: Omit<Written['builtins'], 'filesystem'> & { filesystem: Required<Written['builtins']['filesystem']> };
  }
>;

export type Profile = Settings['profiles'][string];

/**
 * The path of every setting that is merged as one value. An object without defaults is one value too: a rate must
 * not combine `maxCalls` of one file with `windowMs` of another.
 */
export const settingPaths: readonly (readonly string[])[] = valuePaths(configSchema, []).filter(
  ([first]) => first !== '$schema' && first !== 'mcpServers' && first !== 'connectors',
);

function valuePaths(schema: z.core.$ZodType, path: readonly string[]): readonly (readonly string[])[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) return [path];
  return Object.entries(inner.shape).flatMap(([key, value]) => valuePaths(value as z.core.$ZodType, [...path, key]));
}
