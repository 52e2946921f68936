import type { JsonObject } from '../core/call.ts';

/** What was learnt of a server the last time it was connected. */
export interface ServerMemory {
  readonly server: string;
  /** Of the entry that was connected: another command or URL is another server. */
  readonly signature: string;
  readonly era: 'legacy' | 'modern';
  /** When its era was asked for. */
  readonly at: number;
  /** What it had, as it wrote it. */
  readonly lists: Readonly<Record<'tools' | 'resources' | 'templates' | 'prompts', readonly JsonObject[]>>;
}

/** Lets a server be listed before it is started, and be started without asking for its era again. */
export interface ServerBook {
  all(): Promise<readonly ServerMemory[]>;
  remember(memory: ServerMemory): Promise<void>;
}
