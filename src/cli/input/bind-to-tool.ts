import type { JsonObject, Target } from '../../core/call.ts';
import { functionSignature } from '../print/function-signature.ts';
import { bindArguments } from './bind-arguments.ts';
import { type TypedArguments, unbound } from './read-arguments.ts';

/** Converts typed arguments with the schema of a tool. Those of other entries stay texts. */
export function bindToTool(typed: TypedArguments, target: Target, name: string): JsonObject {
  if (target.kind !== 'tool') return unbound(typed);
  const signature = functionSignature(target, target.shownAs ?? target.name);
  return bindArguments(typed, { name, inputSchema: target.definition.inputSchema, signature });
}
