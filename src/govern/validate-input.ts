import type { JsonObject, ResolvedCall, Result, Stage, Target } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { type Check, compileCheck, loadCompiler } from '../schema/compile.ts';
import { exampleOf } from '../schema/example.ts';
import { withPlainInput } from './plain-input.ts';

const ANY_INPUT: JsonObject = { type: 'object' };

/** Refuses arguments that do not fit the tool's own schema, and says so in words a model can act on. */
export function validateInput(): Stage<ResolvedCall> {
  // By definition: it is one object for as long as the server does not change it.
  const checks = new WeakMap<JsonObject, Check>();
  let compiler: ReturnType<typeof loadCompiler> | undefined;

  async function prepare({ definition, publicName }: Target): Promise<Check> {
    compiler ??= loadCompiler();
    const check = compiled(await compiler, definition, publicName);
    checks.set(definition, check);
    return check;
  }

  // Nearly always the tool was called before: what need not wait does not, or each call would pay for it.
  return function validateInput(call, next) {
    const { definition, invalid, publicName } = call.target;
    if (invalid !== undefined) return Promise.reject(invalidTool(publicName, invalid));
    // Its arguments were checked when it began, and need not be known to ask how far it is.
    if (call.from?.kind === 'task') return next(call);
    if (call.kind !== 'tool') return orReject(() => next(withPlainInput(call)));
    const check = checks.get(definition);
    const goOn = (known: Check) => orReject(() => next(checked(call, known)));
    return check ? goOn(check) : prepare(call.target).then(goOn);
  };
}

function checked(call: ResolvedCall, check: Check): ResolvedCall {
  call.examine?.(call.target.definition);
  const wrong = check(call.input);
  if (wrong) throw invalidInput(call, wrong);
  return call;
}

function orReject(step: () => Promise<Result>): Promise<Result> {
  try {
    return step();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** What cannot be compiled stays so: the next call is told at once, and nothing is compiled again. */
function compiled(compile: Awaited<ReturnType<typeof loadCompiler>>, definition: JsonObject, tool: string): Check {
  try {
    return compileCheck(compile, schemaOf(definition), tool);
  } catch (thrown) {
    return () => {
      throw thrown;
    };
  }
}

const schemaOf = ({ inputSchema }: JsonObject): JsonObject => (isObject(inputSchema) ? inputSchema : ANY_INPUT);

const invalidTool = (tool: string, why: string) => new HeddleError('TOOL_INVALID', `${tool} cannot be called: ${why}.`);

function invalidInput({ target }: ResolvedCall, wrong: string): HeddleError {
  const example = JSON.stringify(exampleOf(schemaOf(target.definition)));
  return new HeddleError('INPUT_INVALID', `The arguments of ${target.publicName} do not fit: ${wrong}.`, {
    fix: `Send for example ${example}.`,
  });
}
