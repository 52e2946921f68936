/** What is known of a secret without opening it. */
export interface SecretLabel {
  readonly name: string;
  /** When it was set; a keychain does not say. */
  readonly at?: string;
}

/** The values that configurations name as `${secret:name}`. No error and no listing ever holds one. */
export interface Secrets {
  readonly backend: 'keychain' | 'file';
  /** Throws USAGE_INVALID for what cannot be the name of a secret. */
  requireName(name: string): void;
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  names(): Promise<readonly SecretLabel[]>;
  /** False when there was none. */
  remove(name: string): Promise<boolean>;
}
