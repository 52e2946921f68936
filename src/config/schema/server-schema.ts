import * as z from 'zod';
import { PROTOCOL_VERSIONS } from '../../wire/mcp.ts';
import { TREATMENT_DEFAULTS } from './defaults.ts';

const RECONNECT = TREATMENT_DEFAULTS.reconnect;
const NO_NUL = /^[^\0]*$/;
const ONE_LINE = /^[^\r\n\0]*$/;

const text = z.string().regex(NO_NUL, 'must not contain a NUL character');
const line = z.string().regex(ONE_LINE, 'must be a single line');
const names = z.array(z.string().min(1));
const milliseconds = z.int().positive();
/** An hour at most: a server that needs longer hangs. */
export const connectTimeout = milliseconds.max(3_600_000);
const CONNECT_TIMEOUT =
  'How long its handshake and each request for a list may take; `connect.timeoutMs` when left out.';
const answer = z.enum(['allow', 'ask', 'deny']);

/** So many calls in so long a window. There is no default: without it nothing is limited. */
export const rate = z.strictObject({
  maxCalls: z.int().positive().describe('Calls allowed in one window.'),
  windowMs: milliseconds.describe('Length of the window in milliseconds.'),
});

const sandbox = z.strictObject({
  networkAccess: z.boolean().default(false).describe('Whether the server may use the network at all.'),
  fileSystemAccess: z
    .enum(['none', 'read', 'readwrite'])
    .default('none')
    .describe('What the server may do inside `allowedPaths`.'),
  allowedPaths: z.array(text.min(1)).default([]).describe('Folders and files the server may see.'),
  allowedHosts: names.default([]).describe('Hosts the server may reach; empty with `networkAccess` means any.'),
  memoryMb: z.int().positive().exactOptional().describe('Memory the server and its children may use, in megabytes.'),
  cpuSeconds: z.int().positive().exactOptional().describe('Processor time the server may use, in seconds.'),
  required: z.boolean().default(true).describe('When false, the server runs even where no sandbox can be enforced.'),
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
    .describe('Wait before an attempt, times the number of the attempt.'),
});

const permissions = z.strictObject({
  allowedTools: names.exactOptional().describe('Tools that run; any other tool of the server asks first.'),
  deniedTools: names.exactOptional().describe('Tools that never run.'),
  allowedResources: names
    .exactOptional()
    .describe('URIs that may be read, or templates of them; any other resource is denied.'),
  readPermission: answer.exactOptional().describe('What happens to calls that only read.'),
  writePermission: answer.exactOptional().describe('What happens to all other calls.'),
});

const equivalent = z.strictObject({
  tool: z.string().min(1).describe('The name under which another server of the pool offers it.'),
  rename: z
    .record(z.string(), z.string().min(1))
    .default({})
    .describe('What that tool’s arguments are called here, by their names there.'),
});

const tool = z.strictObject({
  riskLevel: z.enum(['low', 'medium', 'high']).exactOptional().describe('How much harm the tool can do.'),
  category: z.string().min(1).exactOptional().describe('What the tool is listed under.'),
  rateLimit: rate.exactOptional().describe('How often the tool may be called.'),
  timeoutMs: milliseconds.exactOptional().describe('How long one call may take.'),
  idempotent: z.boolean().exactOptional().describe('Whether repeating a call does no further harm.'),
  readOnly: z.boolean().exactOptional().describe('Whether the tool changes nothing.'),
  requiresApproval: z.boolean().exactOptional().describe('Whether a person has to agree to each call.'),
  costPerCall: z.number().nonnegative().exactOptional().describe('What one call costs, for budgets.'),
  hedgeAfterMs: milliseconds
    .exactOptional()
    .describe(
      'How long one server of a pool may take before another is asked, too; only for calls that may be repeated.',
    ),
  equivalent: equivalent.exactOptional().describe('The tool of the pool that this one does the work of.'),
  hidden: z.boolean().exactOptional().describe('Whether the tool is left out of every list and cannot be called.'),
  rename: z.string().min(1).exactOptional().describe('The name the tool is offered under.'),
});

const oauth = z.strictObject({
  clientId: line.min(1).exactOptional().describe('Client id registered with the authorization server.'),
  clientSecret: line.min(1).exactOptional().describe('Secret of that client.'),
  clientMetadataUrl: z.url().exactOptional().describe('URL of a client metadata document, used as the client id.'),
  privateKey: text.min(1).exactOptional().describe('PEM key that signs client assertions.'),
  grant: z.enum(['authorization_code', 'client_credentials']).exactOptional().describe('How a token is obtained.'),
  callbackPort: z.int().min(1).max(65535).exactOptional().describe('Loopback port of the sign-in callback.'),
  authServerMetadataUrl: z.url().exactOptional().describe('Where the metadata of the authorization server is.'),
  scopes: z.array(line.min(1)).exactOptional().describe('Scopes to ask for.'),
  xaa: z.boolean().exactOptional().describe('Whether the token comes from the organisation’s sign-in.'),
});

const ide = z.strictObject({
  lockFolder: text
    .min(1)
    .exactOptional()
    .describe('Folder in which running IDEs announce themselves; `~/.claude/ide` when left out.'),
  tokenHeader: z
    .string()
    .regex(/^[\w-]+$/, 'must be the name of a header')
    .exactOptional()
    .describe('Header that carries the token of the IDE; `X-Claude-Code-Ide-Authorization` when left out.'),
});

/** What any server may say about how Heddle treats it. */
const treatment = {
  description: z.string().exactOptional().describe('What the server is for.'),
  category: z.string().min(1).exactOptional().describe('What tools without a category of their own are listed under.'),
  pool: z.string().min(1).exactOptional().describe('Servers of one pool stand in for each other.'),
  priority: z.number().default(TREATMENT_DEFAULTS.priority).describe('Within a pool, higher is tried first.'),
  enabled: z.boolean().default(TREATMENT_DEFAULTS.enabled).describe('When false, the server is never started.'),
  trusted: z
    .boolean()
    .default(TREATMENT_DEFAULTS.trusted)
    .describe('Whether to believe what the server says about its own tools.'),
  protocol: z
    .enum(PROTOCOL_VERSIONS)
    .exactOptional()
    .describe(
      'The only version of MCP to speak with the server. Left out, both sides agree on one; a server of both eras is spoken to in the era of the calling client.',
    ),
  autoConnect: z
    .boolean()
    .default(TREATMENT_DEFAULTS.autoConnect)
    .describe('Whether to connect at start instead of at the first use.'),
  limits: rate.exactOptional().describe('How often the server may be called.'),
  timeoutMs: milliseconds.exactOptional().describe('How long one call may take.'),
  connectTimeoutMs: connectTimeout.exactOptional().describe(CONNECT_TIMEOUT),
  reconnect: reconnect.prefault({}).describe('How a lost server is tried again.'),
  permissions: permissions.default({}).describe('What may be called without asking.'),
  tools: z.record(z.string(), tool).default({}).describe('Facts about single tools, by name.'),
};

/** A server in process sends objects, not bytes. The most fits into what may wait for a slow client. */
const transport = {
  maxMessageBytes: z
    .int()
    .min(1024)
    .max(60 * 1024 * 1024)
    .exactOptional()
    .describe('Largest message taken from the server; 16777216 when left out.'),
};

export const stdioEntry = z.strictObject({
  type: z.literal('stdio').default('stdio').describe('A program on this machine, spoken to over its pipes.'),
  command: text.min(1).describe('Program to start; no shell is involved.'),
  args: z.array(text).default([]).describe('Arguments of the program.'),
  env: z.record(z.string(), text).default({}).describe('Added to a small safe environment; yours is not inherited.'),
  cwd: text.min(1).exactOptional().describe('Folder the program starts in.'),
  sandbox: sandbox.exactOptional().describe('What the program may touch, enforced by the operating system.'),
  ...transport,
  ...treatment,
});

export const remoteEntry = z.strictObject({
  type: z
    .enum(['http', 'sse', 'ws', 'sse-ide', 'ws-ide', 'proxy'])
    .default('http')
    .describe(
      'How the server is spoken to. `http` and `sse` go through the proxy that the environment names, `ws` does not.',
    ),
  url: z.url({ protocol: /^(https?|wss?)$/ }).describe('Address of the server.'),
  headers: z.record(z.string(), line).default({}).describe('Sent with every request.'),
  headersHelper: text.min(1).exactOptional().describe('Command that prints more headers as JSON.'),
  oauth: oauth.exactOptional().describe('How to sign in.'),
  ide: ide
    .exactOptional()
    .describe('How an IDE is found, for `sse-ide` and `ws-ide`; a port in `url` names a certain one.'),
  ...transport,
  ...treatment,
});

export const sdkEntry = z.strictObject({
  type: z.literal('sdk').describe('A server that the embedding program runs in process.'),
  name: z.string().min(1).describe('Name the program registered it under.'),
  ...treatment,
});

/** One entry of `mcpServers`. */
export const serverEntry = z.union([stdioEntry, remoteEntry, sdkEntry]);
