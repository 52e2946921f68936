import type { Target } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { PolicyCheck, RuleVerdict } from '../../core/records/policy.ts';
import type { Heddle } from '../../heddle.ts';
import type { Input } from '../command.ts';
import { localCommandHeddle } from '../command-heddle.ts';
import { bindToTool } from '../input/bind-to-tool.ts';
import { untilInterrupted } from '../input/interrupt.ts';
import { readArguments } from '../input/read-arguments.ts';
import { splitName, wholeName } from '../input/target-name.ts';
import { localCaller } from '../local-caller.ts';
import { type PrintedColumn, printColumns } from '../print/print-columns.ts';
import { printJson } from '../print/print-json.ts';
import { print } from '../print/print-line.ts';
import { runOptions } from '../terminal-call.ts';
import { withHeddle } from '../with-heddle.ts';
import { policySubject } from './show-permissions.ts';

const EXITS = { allow: 0, deny: 5, ask: 6 } as const;

/** Prints the decision on a call, the verdict of each rule and the approvers. The exit code is that of the decision. */
export async function checkPolicy(input: Input, words: readonly string[]): Promise<number> {
  const check = await withHeddle(runOptions(input), (heddle) => checkTyped(heddle, input, words));
  if (input.flag('json')) printJson(check);
  else printCheck(check);
  if (check.effect === 'ask' && check.standing !== undefined) return EXITS.allow;
  return check.refusal === undefined ? EXITS[check.effect] : EXITS.deny;
}

async function checkTyped(heddle: Heddle, input: Input, words: readonly string[]): Promise<PolicyCheck> {
  const caller = localCaller();
  const named = splitName(words);
  if (named === undefined) {
    throw new HeddleError('USAGE_INVALID', 'No tool to check was given.', {
      fix: 'Write for example `heddle policy check files.write_file path=/etc/hosts`.',
    });
  }
  const commandHeddle = localCommandHeddle(heddle);
  const name = await wholeName(commandHeddle, caller, named);
  const typed = await readArguments(named.words, input.text('args'));
  const as = policySubject(input.text('as'), input.text('profile'));
  const bind = (target: Target) => bindToTool(typed, target, name);
  return heddle.policy.check(caller, { name, input: bind, as, signal: untilInterrupted() });
}

const COLUMNS: readonly PrintedColumn<RuleVerdict>[] = [
  { title: 'RULE', of: ({ rule }) => rule },
  { title: 'EFFECT', of: ({ effect, isShadow }) => (isShadow ? `${effect} (shadow)` : effect) },
  { title: 'MATCHES', of: ({ matches }) => matches },
  { title: 'REASON', of: ({ reason }) => reason },
  { title: 'FROM', of: ({ at }) => (at ? `${at.file}:${at.line}` : '-') },
];

const WORDS = { allow: 'is allowed', ask: 'needs an approval', deny: 'is denied' } as const;

function printCheck(check: PolicyCheck): void {
  print(`${check.name} ${WORDS[check.effect]} by ${check.rule}: ${check.reason}`);
  for (const [at, { approvers, need }] of (check.stages ?? []).entries()) {
    print(`Stage ${at + 1}: ${need} of ${approvers.join(', ')}.`);
  }
  if (check.standing !== undefined) print(`The standing approval ${check.standing} settles it.`);
  if (check.refusal !== undefined) print(`No approval can be requested: ${check.refusal}`);
  process.stdout.write('\n');
  printColumns(COLUMNS, check.verdicts);
}
