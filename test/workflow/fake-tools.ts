import type { ToolResult } from './classic-reference.ts';
import type { Args } from './classic-values.ts';

const SAFE_TOOLS = ['echo', 'list', 'empty', 'structured', 'rows'] as const;
/** `rows` has a list as JSON in its text; `picky` has error results and `breaks` throws for one in four arguments; `never` always has an error result. */
const FAILING_TOOLS = ['picky', 'breaks', 'never'] as const;
export const TOOL_NAMES = [...SAFE_TOOLS, ...FAILING_TOOLS];

/** Removes what may differ between two evaluators: latencies, extra fields of tool results, texts of errors, key order. */
export function normalise(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalise);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields.fallback === true) return { fallback: true };
  if ('latencyMs' in fields) return { content: normalise(fields.content), isError: fields.isError === true };
  const keys = Object.keys(fields).sort();
  return Object.fromEntries(keys.map((key) => [key, normalise(fields[key])]));
}

/** Tools for the reference. */
export const fakeTools = async (toolName: string, args: Args): Promise<ToolResult> => fakeResult(toolName, args);

/** Returns the same result for the same arguments. Texts stay short, so that nested loops do not grow them. */
export function fakeResult(toolName: string, args: Args): ToolResult {
  const hash = hashOf(`${toolName} ${JSON.stringify(normalise(args))}`);
  const texts = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ type: 'text', text: `${hash % 100}/${at}` }));
  if (toolName === 'breaks' && hash % 4 === 0) throw new Error('The tool threw.');
  if (toolName === 'never' || (toolName === 'picky' && hash % 4 === 0)) return { content: texts(1), isError: true };
  if (toolName === 'rows') return { content: [{ type: 'text', text: `[{"n":1},{"n":${hash % 4}}]` }] };
  if (toolName === 'structured')
    return { content: texts(1), structuredContent: { content: 'other', value: hash % 100 } };
  return { content: texts({ list: 1 + (hash % 3), empty: 0 }[toolName] ?? 1) };
}

function hashOf(text: string): number {
  let hash = 2166136261;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16777619) >>> 0;
  return hash >>> 8;
}
