import type { JsonObject } from '../core/call.ts';

/** What was learnt of a server the last time it was connected. */
export interface ServerMemory {
  readonly server: string;
  /** Of the entry that was connected: another command or URL is another server. */
  readonly signature: string;
  /** What its user could be asked, as `abilitiesKey` says it: some servers list more to whoever can be asked more. */
  readonly abilities: number;
  readonly era: 'legacy' | 'modern';
  /** When its era was asked for. */
  readonly at: number;
  /** What it had, as it wrote it. */
  readonly lists: Readonly<Record<'tools' | 'resources' | 'templates' | 'prompts', readonly JsonObject[]>>;
}

/** Lets a server be listed before it is started, and be started without asking for its era again. */
export interface ServerBook {
  all(): Promise<readonly ServerMemory[]>;
  /** Takes the place of what was remembered of the same server for the same abilities. */
  remember(memory: ServerMemory): Promise<void>;
}
