/** The name and date of a secret, without its value. */
export interface SecretLabel {
  readonly name: string;
  /** The time at which it was set; a keychain does not record it. */
  readonly at?: string;
}

/** The values that configurations name as `${secret:name}`. Errors and listings never contain a value. */
export interface Secrets {
  readonly backend: 'keychain' | 'file';
  /** Throws USAGE_INVALID for a name that no secret can have. */
  requireName(name: string): void;
  get(name: string): Promise<string | undefined>;
  set(name: string, value: string): Promise<void>;
  names(): Promise<readonly SecretLabel[]>;
  /** Returns false when there was no such secret. */
  remove(name: string): Promise<boolean>;
}
