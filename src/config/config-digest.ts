import { createHmac } from 'node:crypto';
import type { Json } from '../core/call.ts';
import { canonicalJson } from '../core/json.ts';
import { VERSION } from '../core/version.ts';
import type { Config, ServerConfig } from './config.ts';

type DigestedConfig = Pick<Config, 'servers' | 'settings' | 'workflows'>;

/**
 * Returns a digest of the servers, settings and workflows in force, expanded variables and trust decisions included. Two processes
 * with the same digest treat a call alike. It is keyed: values of secrets cannot be guessed from it. `connect` and
 * `store` are those of the start: a change takes effect at the next one.
 */
export function configDigest(
  { servers, settings, workflows = [] }: DigestedConfig,
  key: string,
  atStart = settings,
): string {
  const { gateway: _, ...used } = settings; // The listener has no effect on calls.
  const { connect, store } = atStart;
  const entries = [...servers.values()].map(inForce);
  const whole = { version: VERSION, servers: entries, workflows, settings: { ...used, connect, store } };
  return createHmac('sha256', key)
    .update(canonicalJson(whole as unknown as Json))
    .digest('base64url');
}

const inForce = ({ name, scope, entry, problem, policy }: ServerConfig) => ({
  name,
  scope,
  entry,
  problem: problem?.message,
  policy: policy?.effect,
});
