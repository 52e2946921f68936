import { nameFor } from '../core/call/name-for.ts';
import type { JsonObject, ResolvedCall, Stage, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { withPlainNumbers } from '../core/exact-numbers.ts';
import { isObject } from '../core/json.ts';
import { type Check, compileCheck } from '../schema/compile.ts';
import { exampleOf } from '../schema/example.ts';
import { findParamHeaderMismatch } from '../schema/param-headers.ts';
import { withPlainInput } from './plain-input.ts';

const ANY_INPUT: JsonObject = { type: 'object' };

/** Refuses arguments that do not match the tool's input schema, with a message that a model can act on. */
export function validateInput(): Stage<ResolvedCall> {
  // A definition stays the same object until the server changes it.
  const checks = new WeakMap<JsonObject, Check>();

  function checkOf({ definition }: Target): Check {
    const known = checks.get(definition);
    if (known) return known;
    const check = compiled(definition);
    checks.set(definition, check);
    return check;
  }

  // Not an async function: that would cost every call an allocation.
  return function validateInput(call, next) {
    const { target, kind, continuation } = call;
    if (target.invalid !== undefined) return Promise.reject(invalidTool(nameFor(call), target.invalid));
    // The arguments were checked when the task began, and a poll need not repeat them.
    if (continuation?.kind === 'task') return next(call);
    try {
      return next(kind === 'tool' ? checked(call, checkOf(target)) : withPlainInput(call));
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  };
}

function checked(call: ResolvedCall, check: Check): ResolvedCall {
  checkParamHeaders(call);
  const wrong = check(withPlainNumbers(call.input));
  if (wrong) throw invalidInput(call, wrong);
  return call;
}

/** Throws INPUT_INVALID if an `Mcp-Param-*` header differs from the argument that it repeats. */
function checkParamHeaders({ paramHeaders, target, input }: ResolvedCall): void {
  if (!paramHeaders) return;
  const mismatch = findParamHeaderMismatch(paramHeaders, target.definition.inputSchema, input);
  if (mismatch === undefined) return;
  throw new HeddleError('INPUT_INVALID', `${mismatch} does not match the body.`, {
    details: { mismatchedHeader: mismatch },
  });
}

/** Compiles the input schema. If that fails with a HeddleError, every later check throws the same error at once. */
function compiled(definition: JsonObject): Check {
  try {
    return compileCheck(schemaOf(definition), 'This tool', { nullIsAbsent: true });
  } catch (thrown) {
    if (!HeddleError.is(thrown)) throw thrown; // Not cached: another attempt may succeed.
    return () => {
      throw thrown;
    };
  }
}

const schemaOf = ({ inputSchema }: JsonObject): JsonObject => (isObject(inputSchema) ? inputSchema : ANY_INPUT);

const invalidTool = (tool: string, reason: string) =>
  new HeddleError('TOOL_INVALID', `${tool} cannot be called: ${reason}.`);

function invalidInput(call: ResolvedCall, wrong: string): HeddleError {
  if (call.hooked?.original !== undefined) {
    const message = `A hook changed the arguments of ${nameFor(call)}, and they do not fit: ${wrong}.`;
    const fix = 'The operator who maintains the hooks in `hooks.beforeCall` can correct them.';
    return new HeddleError('INPUT_INVALID', message, { fix, details: { rule: 'hooks.beforeCall' } });
  }
  const example = JSON.stringify(exampleOf(schemaOf(call.target.definition)));
  return new HeddleError('INPUT_INVALID', `The arguments of ${nameFor(call)} do not fit: ${wrong}.`, {
    fix: `Send for example ${example}.`,
  });
}
