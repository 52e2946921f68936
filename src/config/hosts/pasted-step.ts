import type { JsonObject } from '../../core/call.ts';

/** A value that VS Code prompts for. */
export interface PastedInput {
  readonly description?: string;
  readonly default?: string;
}

/** Facts about the text around an entry. */
export interface PastedContext {
  /** True for entries of opencode, which has `{env:NAME}` and its own timeout. */
  readonly isOpencode: boolean;
  /** The inputs that VS Code prompts for, by id. */
  readonly inputs: ReadonlyMap<string, PastedInput>;
}

/** Collects the effects of keys that are not Heddle's. */
export interface PastedReport {
  /** Reports a key that has another name or value in Heddle. */
  became(before: string, after: string): void;
  note(text: string): void;
}

/** Converts some keys of a pasted entry. */
export type PastedStep = (entry: JsonObject, report: PastedReport, context: PastedContext) => JsonObject;
