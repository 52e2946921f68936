import { nameFor } from '../../core/call/name-for.ts';
import { isTaskCancel } from '../../core/call/task.ts';
import type { JsonObject, ResolvedCall, Result, Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { withPlainNumbers } from '../../core/exact-numbers.ts';
import { isObject } from '../../core/json.ts';
import { type Check, compileCheck } from '../../schema/compile.ts';

/** The effect of a result that does not match the output schema of its tool. */
export type OutputCheck = 'off' | 'flag' | 'refuse';

/** Returns true if a tool has an output schema, at any server of its pool. */
export const hasOutputSchema = ({ definition, equivalents }: Target): boolean =>
  definition.outputSchema !== undefined || equivalents !== undefined;

/**
 * Returns a function that checks results against output schemas. With `flag` the result passes and its provenance has the
 * mismatch; with `refuse` it throws TOOL_INVALID.
 */
export function outputChecker(
  checkOf: (server: string) => OutputCheck,
): (call: ResolvedCall, result: Result) => Result {
  // A definition stays the same object until the server changes it.
  const checks = new WeakMap<JsonObject, Check>();

  function mismatchOf(definition: JsonObject, { structuredContent }: JsonObject): string | undefined {
    const { outputSchema } = definition;
    if (!isObject(outputSchema)) return undefined;
    if (structuredContent === undefined) return 'it has no structuredContent';
    try {
      const check = checks.get(definition) ?? compileCheck(outputSchema, 'This tool', { of: 'output' });
      checks.set(definition, check);
      return check(withPlainNumbers(structuredContent));
    } catch (thrown) {
      if (!HeddleError.is(thrown)) throw thrown;
      return 'its output schema cannot be used, or it is too large to check';
    }
  }

  return function checkOutput(call, result) {
    if (result.kind !== 'complete' || result.isError || isTaskCancel(call)) return result;
    const { server } = result.provenance;
    const effect = checkOf(server);
    if (effect === 'off') return result;
    const { equivalents, definition } = call.target;
    const mismatch = mismatchOf(equivalents?.get(server)?.definition ?? definition, result.value);
    if (mismatch === undefined) return result;
    if (effect === 'refuse') throw refused(call, server, mismatch);
    return { ...result, provenance: { ...result.provenance, mismatch } };
  };
}

const refused = (call: ResolvedCall, server: string, mismatch: string) =>
  new HeddleError(
    'TOOL_INVALID',
    `${nameFor(call)} was called, and its result was withheld: it does not match the output schema (${mismatch}).`,
    {
      fix: `Check the effects before you call again; \`outputCheck: "flag"\` of the server ${server} lets such results pass.`,
      details: { server, withheld: true },
    },
  );
