import type { ClassicTool } from './classic-form.ts';

export interface Known {
  readonly id: string;
  readonly kind: 'tool' | 'array' | 'other';
}

/** The names that a step may refer to. Other names depend on timing, or have a meaning that is not specified. */
export interface Scope {
  readonly depth: number;
  readonly isInLoop: boolean;
  readonly isInBranch: boolean;
  readonly isInPipeline: boolean;
  readonly earlier: readonly Known[];
  readonly variables: readonly string[];
}

/** Answers every choice of one workflow from a list of numbers. After the last number each choice is the first option. */
export interface Choices {
  readonly errorHandling: 'stop' | 'skip' | 'fallback';
  readonly count: (limit: number) => number;
  readonly one: <T>(options: readonly T[]) => T;
  readonly newId: () => string;
  /** Ids of top-level steps that have not started, and an id that no step has. */
  later: readonly string[];
}

const LITERALS = [
  'word',
  '5',
  'true',
  'null',
  '[1,"a"]',
  '{"a":{"b":2}}',
  '"5"',
  '',
  '05',
  '{a',
  ' 7 ',
  'n: $input.n',
  '$$a',
  '$5.00',
  '$',
  '$input.n x',
  '${x}',
];
const INPUTS = [
  'n',
  'flag',
  'word',
  'none',
  'items',
  'items.0',
  'items.7',
  'user.name',
  'user.tags.1',
  'absent',
  'n.x',
];
const PATHS = {
  tool: ['result', 'result.content', 'content', 'isError', 'serverId', 'content.0.text', 'content.2.text'].concat(
    ['isError', 'serverId', 'content.0', 'content.0.text', 'fallback', 'none'].map((path) => `result.${path}`),
  ),
  array: [
    'result',
    ...['0', '0.content', '1.content.0.text', '0.isError', '2', 'fallback'].map((path) => `result.${path}`),
  ],
  other: ['result', ...['content', 'content.0.text', 'isError', 'fallback', '0'].map((path) => `result.${path}`)],
} as const;
const LITERAL_CONDITIONS = ['true', 'false', '0', '1', 'null', '""', '"x"', '[]', '{}', '0.0', '1e3', '-1', '"0"'];
const INPUT_TERMS = ['$input.n < 2', '$input.n >= 1', '$input.n != 2', '$input.flag', "$input.word == 'a'"].concat([
  '$input.none == null',
  '$input.flag == false',
  'size($input.items) > 1',
]);
const LOOP_TERMS = ['$var.iteration < 2', '$var.iteration != 1', 'size($var.loopResults) <= 1', '$var.iteration >= 0'];
const LOOP_VALUES = ['$var.iteration', '$var.loopResults', '$var.loopResults.0', '$var.loopResults.1.content'];

export const mapping = (choices: Choices, scope: Scope) =>
  Object.fromEntries(['a', 'b', 'c'].slice(0, choices.count(4)).map((name) => [name, value(choices, scope)]));

export function variables(
  choices: Choices,
  id: string,
  scope: Scope,
  kind?: Known['kind'],
): Pick<ClassicTool, 'outputMapping'> {
  if (choices.count(3) < 2) return {};
  const parts = kind === 'tool' ? ['result', 'result.content', 'content', 'isError'] : ['result', 'result.0'];
  const found = choices.one([...parts.map((part) => `$${id}.${part}`), '7', 'text']);
  const own = `own_${id}`;
  // Branches run at the same time: each sets variables of its own.
  if (scope.isInBranch) return { outputMapping: { [own]: found } };
  return { outputMapping: { [choices.one(['x', 'y'])]: found, [own]: value(choices, scope) } };
}

function value(choices: Choices, scope: Scope): string {
  return choices.count(4) === 0 ? choices.one(LITERALS) : reference(choices, scope);
}

function reference(choices: Choices, { earlier, variables, isInLoop, isInPipeline }: Scope): string {
  const kinds = [
    'input',
    'variable',
    'later',
    ...(isInLoop ? ['loop'] : []),
    ...(isInPipeline ? ['prev'] : []),
    ...earlier.slice(0, 3).map(() => 'step'),
  ];
  switch (choices.one(kinds)) {
    case 'variable':
      return `$var.${choices.one([...variables, 'unset'])}`;
    case 'later':
      return `$${choices.one(choices.later)}.${choices.one(['result', 'result.content', 'result.0'])}`;
    case 'loop':
      return choices.one(LOOP_VALUES);
    case 'prev':
      return choices.one(['$prev', '$prev.0', '$prev.text', '$prev.content.0.text', '$prev.0.n']);
    case 'step': {
      const { id, kind } = choices.one(earlier);
      return `$${id}.${choices.one<string>(PATHS[kind])}`;
    }
    default:
      return `$input.${choices.one(INPUTS)}`;
  }
}

export function condition(choices: Choices, scope: Scope): string {
  const tools = scope.earlier.filter(({ kind }) => kind === 'tool');
  const terms = scope.isInLoop ? [...LOOP_TERMS, ...LOOP_TERMS, ...INPUT_TERMS] : INPUT_TERMS;
  const term = () => (tools.length > 0 && choices.count(2) === 1 ? comparison(choices, tools) : choices.one(terms));
  const options = [
    () => choices.one(LITERAL_CONDITIONS),
    () => reference(choices, scope),
    term,
    () => `!(${term()})`,
    () => `${term()} && ${term()}`,
    () => `${term()} || !(${term()})`,
    () => `(${term()} || ${term()}) && ${term()}`,
  ];
  return choices.one(options)();
}

function comparison(choices: Choices, tools: readonly Known[]): string {
  const { id } = choices.one(tools);
  const sizes = [`size($${id}.content) > 1`, `size($${id}.result.content) == 1`];
  return choices.one([
    `$${id}.isError == false`,
    `$${id}.result.isError != true`,
    `$${id}.content.0.type == 'text'`,
    ...sizes,
  ]);
}
