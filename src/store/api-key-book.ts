import type { StoredApiKey } from '../core/records/api-key.ts';

/** The API keys of the gateway, shared by every process on this store. A removed key is refused by all of them. */
export interface ApiKeyBook {
  /** Returns all keys, ordered by name. */
  all(): Promise<readonly StoredApiKey[]>;
  /** Reads the store for each request, so that a revoked key is refused from then on. */
  find(sha256: string): Promise<StoredApiKey | undefined>;
  /** Returns false when the name is taken. */
  add(key: StoredApiKey): Promise<boolean>;
  /** Returns false when there is no such key. */
  remove(name: string): Promise<boolean>;
}
