/** What a tool could not do, in words for the model: what happened, why, and what to do instead. */
export class ToolFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ToolFailure';
  }
}

const LONGEST_QUOTE = 300;

/** The caller's own words inside a message, in quotes, and cut when they are very long. */
export function quote(words: string): string {
  return JSON.stringify(words.length > LONGEST_QUOTE ? `${words.slice(0, LONGEST_QUOTE)}…` : words);
}
