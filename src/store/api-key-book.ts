import type { StoredApiKey } from '../core/records/api-key.ts';

/** The keys that open the gateway, shared by every process on this store: what one removes no other accepts any more. */
export interface ApiKeyBook {
  /** By name. */
  all(): Promise<readonly StoredApiKey[]>;
  /** Asked anew for each request, so that a key that was taken away opens nothing from then on. */
  find(sha256: string): Promise<StoredApiKey | undefined>;
  /** False when the name is taken. */
  add(key: StoredApiKey): Promise<boolean>;
  /** False when there is no such key. */
  remove(name: string): Promise<boolean>;
}
