import type { JsonObject } from '../call.ts';

/** The preview of a call for its approver: a text, or the reason why the call would be refused anyway. */
export type CallPreview = { readonly text: string } | { readonly refused: string };

/** Checks a call of a built-in tool without running it. Undefined if the tool has no preview. */
export type PreviewCall = (tool: string, input: JsonObject, signal: AbortSignal) => Promise<CallPreview | undefined>;
