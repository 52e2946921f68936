import { hash } from 'node:crypto';
import type { JsonObject } from '../../core/call.ts';
import { canonicalJson } from '../../core/json.ts';
import type { SignatureOf } from '../../govern/approvals/binding.ts';
import type { ActiveConfig } from '../active-config.ts';

/** Returns the function that returns SHA-256 of a server's entry, by the configuration in force. */
export const signatureIn =
  (active: () => Pick<ActiveConfig, 'configs'>): SignatureOf =>
  (server) => {
    const entry = active().configs.get(server)?.entry;
    return entry && hash('sha256', canonicalJson(entry as unknown as JsonObject));
  };
