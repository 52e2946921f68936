import * as z from 'zod';
import { isUrlPattern } from './url-pattern.ts';

const rule = z
  .strictObject({
    serverUrl: z
      .string()
      .refine(isUrlPattern, 'must be a pattern such as `https://*.example.com/*`')
      .exactOptional()
      .describe(
        'Address of a server; `*` stands for any characters. Without a port only the default port of the scheme is meant (`:*` means any, and so does the host `*`), without a path all paths. A path without `*` is exact, query included; a denied path is denied with any query. `wss://` needs a pattern of its own, or `*://`.',
      ),
    serverCommand: z
      .array(z.string())
      .min(1)
      .exactOptional()
      .describe('The program and all its arguments, exactly. `cwd` is not compared.'),
    env: z
      .array(z.string().min(1))
      .exactOptional()
      .describe(
        'Variables that an allowed `serverCommand` may have in its `env`; without it none. A denied command is denied with any.',
      ),
    serverName: z.string().min(1).exactOptional().describe('What people call the server. Anybody can choose a name.'),
  })
  .refine(
    ({ env: _env, ...written }) => Object.keys(written).length === 1,
    'must have one of `serverUrl`, `serverCommand`, `serverName`',
  )
  .refine(({ env, serverCommand }) => env === undefined || serverCommand, 'may have `env` only with `serverCommand`');

const lists = {
  allowedServers: z.array(rule).exactOptional().describe('The servers that may be used; without it all may.'),
  allowedMcpServers: z.array(rule).exactOptional().describe('The same as `allowedServers`.'),
  deniedServers: z.array(rule).exactOptional().describe('Servers that may not be used, whatever else says so.'),
  deniedMcpServers: z.array(rule).exactOptional().describe('The same as `deniedServers`.'),
};

/** `managed-settings.json`: what an organisation allows on this machine. */
export const managedSchema = z.strictObject({
  $schema: z.string().exactOptional().describe('Where editors find the JSON Schema of this file.'),
  ...lists,
  managedUrl: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe('Where more of the same is fetched from.'),
  managedToken: z.string().min(1).exactOptional().describe('Bearer token for `managedUrl`.'),
});

/** What `managedUrl` answers. */
export const managedAnswer = z.strictObject({ ...lists, mcpServers: z.record(z.string(), z.json()).exactOptional() });
