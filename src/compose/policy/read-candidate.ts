import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isNode, LineCounter, parseDocument as parseYaml } from 'yaml';
import { compileExpression } from '../../cel/compile-expression.ts';
import type { LoadedPolicy, SourceLocation } from '../../config/config.ts';
import { policies as policyList } from '../../config/schema/access-schema.ts';
import { HeddleError } from '../../core/errors.ts';

const MAX_BYTES = 2_000_000;

/** Reads the rules of a candidate: YAML or JSON with `policies`. Throws CONFIG_INVALID at the place of its first error. */
export async function readCandidate(path: string): Promise<readonly LoadedPolicy[]> {
  const file = resolve(path);
  const size = await stat(file).then(
    ({ size }) => size,
    () => undefined,
  );
  if (size === undefined) throw wrong(`${path} does not exist.`, 'Check the path of `--candidate`.');
  if (size > MAX_BYTES) throw wrong(`${path} has more than ${MAX_BYTES} bytes.`, 'Split it.');
  const lines = new LineCounter();
  const document = parseYaml(await readFile(file, 'utf8'), { lineCounter: lines, schema: 'core', merge: false });
  const locate = (steps: readonly PropertyKey[], offset = 0): SourceLocation => {
    const node = document.getIn(steps, true);
    const { line, col } = lines.linePos((isNode(node) ? (node.range?.[0] ?? 0) : 0) + offset);
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw wrong(`it is not valid YAML: ${error.message.split('\n')[0]}`, 'Correct it there.', {
      file,
      line,
      column: col,
    });
  }
  const root = plainValue(() => document.toJS({ maxAliasCount: 0 }), file) as { readonly policies?: unknown } | null;
  const read = policyList.safeParse(root?.policies);
  if (!read.success) {
    const [issue] = read.error.issues;
    const steps = ['policies', ...(issue?.path ?? [])];
    throw wrong(`\`${steps.join('.')}\`: ${issue?.message}.`, 'Correct it there.', locate(steps));
  }
  return read.data.map((rule, index) =>
    compiled({ ...rule, scope: 'config', at: locate(['policies', index]) }, (offset) =>
      locate(['policies', index, 'when'], offset),
    ),
  );
}

function plainValue(read: () => unknown, file: string): unknown {
  try {
    return read();
  } catch {
    throw wrong(`${file} has aliases, which are not allowed.`, 'Write the values out.');
  }
}

function compiled(rule: LoadedPolicy, locate: (offset: number) => SourceLocation): LoadedPolicy {
  if (rule.when === undefined) return rule;
  const condition = compileExpression(rule.when);
  if (!('evaluate' in condition)) {
    throw wrong(
      `\`when\` of the policy ${rule.name} is not valid: ${condition.message}.`,
      condition.fix,
      locate(condition.offset),
    );
  }
  if (condition.unguardedAt === undefined || rule.tools !== undefined) return { ...rule, condition };
  throw wrong(
    `\`when\` of the policy ${rule.name} reads an argument, and the rule has no \`tools\`: it would deny every other tool.`,
    'Add `tools`, or test with `has(args.name)` first.',
    locate(condition.unguardedAt),
  );
}

function wrong(message: string, fix: string, at?: SourceLocation): HeddleError {
  const place = at === undefined ? '' : `${at.file}:${at.line}:${at.column}: `;
  return new HeddleError('CONFIG_INVALID', `${place}${message}`, { fix });
}
