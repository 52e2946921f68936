/** A failure of a tool, with a message for the model: what happened, why, and what to do instead. */
export class ToolFailure extends Error {
  /** The reason for programs, in `_meta` of the result. */
  readonly code?: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolFailure';
  }
}

const LONGEST_QUOTE = 300;

/** Quotes text of the caller in a message and shortens long text. */
export function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}
