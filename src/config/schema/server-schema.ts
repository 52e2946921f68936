import * as z from 'zod';
import { isCoreMethod } from '../../wire/core-methods.ts';
import { PROTOCOL_VERSIONS } from '../../wire/mcp.ts';
import { HEALTH_DEFAULTS, TREATMENT_DEFAULTS } from './defaults.ts';

const RECONNECT = TREATMENT_DEFAULTS.reconnect;
const NO_NUL = /^[^\0]*$/;
const ONE_LINE = /^[^\r\n\0]*$/;
// A Host header also changes the name that the certificate is checked for. No flag: JSON Schema patterns have none.
const NOT_HOST = /^(?![Hh][Oo][Ss][Tt]$)/;

// A `*` outside the braces of a template would match only itself.
const NOT_MIXED = /^(?:[^{]*|(?:[^*{]|\{[^{}]*\})*)$/;

const text = z.string().regex(NO_NUL, 'must not contain a NUL character');
const line = z.string().regex(ONE_LINE, 'must be a single line');
const names = z.array(z.string().min(1));
const milliseconds = z.int().positive();
/** At most an hour. */
export const connectTimeout = milliseconds.max(3_600_000);
const CONNECT_TIMEOUT = 'Timeout of the handshake and of each list request. `connect.timeoutMs`, if absent.';
const effect = z.enum(['allow', 'ask', 'deny']);

/** The schema of a rate limit. There is no default: without it calls are not limited. */
export const rate = z.strictObject({
  maxCalls: z.int().positive().describe('Calls allowed in one window.'),
  windowMs: milliseconds.describe('Length of the window in milliseconds.'),
});

const sandbox = z.strictObject({
  networkAccess: z.boolean().default(false).describe('True allows the server to use the network.'),
  fileSystemAccess: z
    .enum(['none', 'read', 'readwrite'])
    .default('none')
    .describe('Access of the server to `allowedPaths`.'),
  allowedPaths: z.array(text.min(1)).default([]).describe('Folders and files that the server may access.'),
  allowedHosts: names
    .default([])
    .describe('Hosts that the server may connect to. All, if empty and `networkAccess` is true.'),
  memoryMb: z.int().positive().exactOptional().describe('Memory limit of the server and its children, in megabytes.'),
  cpuSeconds: z.int().positive().exactOptional().describe('Limit of processor time, in seconds.'),
  required: z.boolean().default(true).describe('False runs the server even if no sandbox is available.'),
});

const reconnect = z.strictObject({
  maxAttempts: z
    .int()
    .nonnegative()
    .default(RECONNECT.maxAttempts)
    .describe('Attempts before the server counts as failed.'),
  delayMs: z
    .int()
    .nonnegative()
    .default(RECONNECT.delayMs)
    .describe('Delay before an attempt in milliseconds, multiplied by its number.'),
});

const health = z.strictObject({
  intervalMs: z
    .int()
    .min(1000)
    .max(3_600_000)
    .default(HEALTH_DEFAULTS.intervalMs)
    .describe('Time between two probes of an idle server, in milliseconds.'),
  misses: z
    .int()
    .min(1)
    .max(100)
    .default(HEALTH_DEFAULTS.misses)
    .describe('Missed probes in a row before the server is unhealthy. After twice as many it is connected anew.'),
});

const permissions = z.strictObject({
  allowedTools: names
    .exactOptional()
    .describe(
      'Tools that run without an approval; any other tool of the server needs one. `*` is any run of characters.',
    ),
  deniedTools: names.exactOptional().describe('Tools that never run. `*` is any run of characters.'),
  allowedResources: z
    .array(z.string().min(1).regex(NOT_MIXED, 'must be a URI template or contain `*`, not both'))
    .exactOptional()
    .describe(
      'URIs, URI templates, or URIs with `*` for any run of characters, that may be read; any other resource is denied.',
    ),
  readPermission: effect.exactOptional().describe('Effect for calls of read-only tools.'),
  writePermission: effect.exactOptional().describe('Effect for all other calls.'),
});

const equivalent = z.strictObject({
  tool: z.string().min(1).describe('Name of the same tool on another server of the pool.'),
  rename: z
    .record(z.string(), z.string().min(1))
    .default({})
    .describe('Argument names of this tool, by those of the other tool.'),
});

const taints = z
  .array(z.enum(['private', 'untrusted']))
  .describe('Labels that its results put on a session, for rules on `taint`.');

const tool = z.strictObject({
  riskLevel: z.enum(['low', 'medium', 'high']).exactOptional().describe('Risk of the tool.'),
  category: z.string().min(1).exactOptional().describe('Category of the tool.'),
  rateLimit: rate.exactOptional().describe('Rate limit of the tool.'),
  timeoutMs: milliseconds.exactOptional().describe('Timeout of one call in milliseconds.'),
  idempotent: z.boolean().exactOptional().describe('True if a repeated call has no further effect.'),
  readOnly: z.boolean().exactOptional().describe('True if the tool changes nothing.'),
  requiresApproval: z.boolean().exactOptional().describe('True if each call needs an approval.'),
  costPerCall: z.number().nonnegative().exactOptional().describe('Cost of one call, for budgets.'),
  requires: z
    .array(z.enum(['network', 'fs:read', 'fs:write']))
    .exactOptional()
    .describe('Access that the tool needs; shown to approvers.'),
  taints: taints.exactOptional(),
  hedgeAfterMs: milliseconds
    .exactOptional()
    .describe(
      'Time in milliseconds after which the call is sent to a second server of the pool too; only for calls that may be repeated.',
    ),
  equivalent: equivalent.exactOptional().describe('Tool of another server of the pool that this one can replace.'),
  hidden: z.boolean().exactOptional().describe('True removes the tool from every list and rejects calls of it.'),
  rename: z.string().min(1).exactOptional().describe('Name under which the tool is listed.'),
});

// With `/` or `.`, so that the public name `mcp__server__method` is never that of a tool.
const METHOD = /^(?=.*[./])[\w$.:-]+(?:\/[\w$.:-]+)*$/;
const MAX_EXTENSIONS = 64;
const MAX_METHODS = 64;

const extensionMethod = z
  .string()
  .max(128)
  .regex(METHOD, 'must be a method such as `acme/export`, of letters, digits and `/ . _ - $ :`')
  .refine((method) => !isCoreMethod(method), 'is a method of MCP itself, which Heddle handles');

const extension = z.strictObject({
  methods: z
    .array(extensionMethod)
    .max(MAX_METHODS)
    .default([])
    .describe('Methods of the extension that clients may call.'),
});

const extensions = z
  .record(z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be up to 200 printable characters without spaces'), extension)
  .refine((all) => Object.keys(all).length <= MAX_EXTENSIONS, `must have at most ${MAX_EXTENSIONS} extensions`);

const oauth = z.strictObject({
  issuer: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe(
      'The only authorization server to sign in at, exactly as its metadata names itself. Any that the server names, if absent.',
    ),
  credentials: z
    .enum(['shared', 'user'])
    .exactOptional()
    .describe(
      '`shared`: one sign-in for all callers. `user`: each caller signs in with an account of its own. `shared`, if absent.',
    ),
  clientId: line.min(1).exactOptional().describe('Client id registered with the authorization server.'),
  clientSecret: line.min(1).exactOptional().describe('Secret of that client.'),
  clientMetadataUrl: z.url().exactOptional().describe('URL of a client metadata document, used as the client id.'),
  privateKey: text.min(1).exactOptional().describe('PEM key that signs client assertions.'),
  grant: z
    .enum(['authorization_code', 'client_credentials', 'jwt_bearer'])
    .exactOptional()
    .describe('OAuth grant for getting a token. `authorization_code`, if absent.'),
  assertionFile: text
    .min(1)
    .exactOptional()
    .describe('File with the JWT for the grant `jwt_bearer`. Read for every token request.'),
  callbackPort: z.int().min(1).max(65535).exactOptional().describe('Loopback port of the sign-in callback.'),
  authServerMetadataUrl: z.url().exactOptional().describe('Address of the authorization server’s metadata.'),
  scopes: z.array(line.min(1)).exactOptional().describe('Scopes to request.'),
  xaa: z
    .boolean()
    .exactOptional()
    .describe('True gets the token by cross-app access (XAA), from the organisation’s sign-in.'),
});

const ide = z.strictObject({
  lockFolder: text
    .min(1)
    .exactOptional()
    .describe('Folder of the lock files of running IDEs. `~/.claude/ide`, if absent.'),
  tokenHeader: z
    .string()
    .regex(/^[\w-]+$/, 'must be the name of a header')
    .exactOptional()
    .describe('Header for the token of the IDE. `X-Claude-Code-Ide-Authorization`, if absent.'),
});

/** The fields of every entry: how Heddle treats the server. */
const treatment = {
  taints: taints.exactOptional(),
  outputCheck: z
    .enum(['off', 'flag', 'refuse'])
    .exactOptional()
    .describe(
      'Effect of a result that does not match the output schema. `flag`, if absent: it passes and is reported.',
    ),
  description: z.string().exactOptional().describe('Purpose of the server.'),
  category: z.string().min(1).exactOptional().describe('Category of tools without one of their own.'),
  pool: z.string().min(1).exactOptional().describe('Name of a pool; its servers replace each other.'),
  priority: z
    .number()
    .default(TREATMENT_DEFAULTS.priority)
    .describe('Priority within the pool and for tools named without their server; the highest is tried first.'),
  enabled: z.boolean().default(TREATMENT_DEFAULTS.enabled).describe('False never starts the server.'),
  trusted: z
    .boolean()
    .default(TREATMENT_DEFAULTS.trusted)
    .describe('True uses the annotations that the server gives its tools.'),
  protocol: z
    .enum(PROTOCOL_VERSIONS)
    .exactOptional()
    .describe(
      'The only MCP version to use with the server. If absent, it is negotiated; with a server of both eras, the era of the calling client is used.',
    ),
  autoConnect: z
    .boolean()
    .default(TREATMENT_DEFAULTS.autoConnect)
    .describe('True connects at start instead of at the first use.'),
  limits: rate.exactOptional().describe('Rate limit of the server.'),
  timeoutMs: milliseconds.exactOptional().describe('Timeout of one call in milliseconds.'),
  connectTimeoutMs: connectTimeout.exactOptional().describe(CONNECT_TIMEOUT),
  reconnect: reconnect.prefault({}).describe('Reconnecting after a lost connection.'),
  health: health.exactOptional().describe('Health checks. Every 30 s and two misses, if absent.'),
  permissions: permissions.default({}).describe('Permissions for the tools and resources of the server.'),
  extensions: extensions
    .exactOptional()
    .describe(
      'Extensions of MCP that the server has, by id, with the methods that pass. A method is decided as an unknown write.',
    ),
  tools: z.record(z.string(), tool).default({}).describe('Facts about tools, by name.'),
};

/** Fields of entries with a byte stream. The maximum fits into the buffer for a slow client. */
const transport = {
  maxMessageBytes: z
    .int()
    .min(1024)
    .max(60 * 1024 * 1024)
    .exactOptional()
    .describe('Largest message accepted from the server, in bytes. 16777216, if absent.'),
};

export const stdioEntry = z.strictObject({
  type: z.literal('stdio').default('stdio').describe('A program on this machine, connected by stdio.'),
  command: text.min(1).describe('Program to start, without a shell.'),
  args: z.array(text).default([]).describe('Arguments of the program.'),
  env: z
    .record(z.string(), text)
    .default({})
    .describe('Variables added to a minimal environment; Heddle’s own environment is not inherited.'),
  cwd: text.min(1).exactOptional().describe('Folder the program starts in.'),
  sandbox: sandbox.exactOptional().describe('Limits of the program, enforced by the operating system.'),
  ...transport,
  ...treatment,
});

export const remoteEntry = z.strictObject({
  type: z
    .enum(['http', 'sse', 'ws', 'sse-ide', 'ws-ide', 'proxy'])
    .default('http')
    .describe(
      'Transport of the server. `http` falls back to HTTP+SSE if the server speaks only that, and remembers it; `sse` is HTTP+SSE alone. Both use the proxy of the environment, `ws` does not. `proxy` is `http` with the token of the connector at the same origin.',
    ),
  url: z.url({ protocol: /^(https?|wss?)$/ }).describe('Address of the server.'),
  headers: z
    .record(z.string().regex(NOT_HOST, 'is the host of `url`, and cannot be set'), line)
    .default({})
    .describe('Headers of every request, without `Host`.'),
  headersHelper: z
    .union([text.min(1), z.array(text.min(1)).min(1)])
    .exactOptional()
    .describe(
      'Command that prints headers as a JSON object: a line for `/bin/sh`, or a program and its arguments. Runs at each connect and once after 401 or 403; its headers win over `headers`.',
    ),
  oauth: oauth.exactOptional().describe('Settings for signing in.'),
  ide: ide
    .exactOptional()
    .describe('Settings for finding an IDE, for `sse-ide` and `ws-ide`. A port in `url` selects one IDE.'),
  ...transport,
  ...treatment,
});

export const sdkEntry = z.strictObject({
  type: z.literal('sdk').describe('A server that the embedding program runs in process.'),
  name: z.string().min(1).describe('Name under which the program registered it.'),
  ...treatment,
});

/** The schema of an entry of `mcpServers`. */
export const serverEntry = z.union([stdioEntry, remoteEntry, sdkEntry]);
