import * as z from 'zod';
import { isUrlPattern } from './url-pattern.ts';

const rule = z
  .strictObject({
    serverUrl: z
      .string()
      .refine(isUrlPattern, 'must be a pattern such as `https://*.example.com/*`')
      .exactOptional()
      .describe(
        'Address of a server; `*` matches any characters. Without a port, it matches the default port of the scheme; `:*` and the host `*` match any port. Without a path, it matches all paths. A path without `*` is exact, query included; a denied path is denied with any query. `wss://` needs its own pattern, or `*://`.',
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
    serverName: z
      .string()
      .min(1)
      .exactOptional()
      .describe('Name of the server. A name is no protection: users choose it freely.'),
  })
  .refine(
    ({ env: _env, ...written }) => Object.keys(written).length === 1,
    'must have one of `serverUrl`, `serverCommand`, `serverName`',
  )
  .refine(({ env, serverCommand }) => env === undefined || serverCommand, 'may have `env` only with `serverCommand`');

const lists = {
  allowedServers: z.array(rule).exactOptional().describe('Servers that may be used. All, if the list is absent.'),
  allowedMcpServers: z.array(rule).exactOptional().describe('The same as `allowedServers`.'),
  deniedServers: z
    .array(rule)
    .exactOptional()
    .describe('Servers that may not be used. This list wins over all others.'),
  deniedMcpServers: z.array(rule).exactOptional().describe('The same as `deniedServers`.'),
};

/** The schema of `managed-settings.json`: the rules of an organisation for this machine. */
export const managedSchema = z.strictObject({
  $schema: z.string().exactOptional().describe('Address of the JSON Schema of this file, for editors.'),
  ...lists,
  managedUrl: z
    .url({ protocol: /^https?$/ })
    .exactOptional()
    .describe('Address from which further rules and servers are fetched.'),
  managedToken: z.string().min(1).exactOptional().describe('Bearer token for `managedUrl`.'),
});

/** The schema of a response of `managedUrl`. */
export const managedResponse = z.strictObject({ ...lists, mcpServers: z.record(z.string(), z.json()).exactOptional() });
