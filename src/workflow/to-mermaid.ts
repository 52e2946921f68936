import { cutAndEscapeBreaks } from '../core/text/cut-text.ts';
import type { PipelinePart, Step, StepCondition, Workflow } from './definition/canonical.ts';

const MAX_LABEL_CHARS = 60;

/** The first and the last node of a drawn part. */
interface Drawn {
  readonly first: string;
  readonly last: string;
}

interface Drawing {
  readonly lines: string[];
  /** Adds a node and returns its name. Names are numbered: ids from the definition are labels only. */
  node(label: string, shape?: keyof typeof SHAPES): string;
  edge(from: string, to: string, label?: string): void;
  /** Draws a part in a frame of its own. */
  group(label: string, draw: () => Drawn): Drawn;
}

const SHAPES = { box: ['["', '"]'], round: ['(["', '"])'], choice: ['{"', '"}'], person: ['[/"', '"/]'] } as const;

/** Draws a workflow as a Mermaid flowchart. Text of the definition appears in quoted, escaped labels only. */
export function toMermaid(workflow: Workflow): string {
  const drawing = openDrawing();
  const start = drawing.node(workflow.name, 'round');
  const end = drawChain(workflow.steps, start, drawing);
  drawing.edge(end, drawing.node('end', 'round'));
  return `flowchart TD\n${drawing.lines.join('\n')}\n`;
}

function openDrawing(): Drawing {
  const lines: string[] = [];
  let count = 0;
  let indent = '  ';
  const write = (line: string) => lines.push(indent + line);
  return {
    lines,
    node(label, shape = 'box') {
      const name = `n${count++}`;
      write(`${name}${SHAPES[shape][0]}${escaped(label)}${SHAPES[shape][1]}`);
      return name;
    },
    edge: (from, to, label) => void write(`${from} -->${label === undefined ? '' : `|"${escaped(label)}"|`} ${to}`),
    group(label, draw) {
      write(`subgraph g${count++}["${escaped(label)}"]`);
      indent += '  ';
      const drawn = draw();
      indent = indent.slice(2);
      write('end');
      return drawn;
    },
  };
}

/** Escapes a label. Mermaid writes entities with `#`. */
const escaped = (text: string): string =>
  cutAndEscapeBreaks(text, MAX_LABEL_CHARS).replace(
    /[^\p{L}\p{N} .,:=_/\-+*()$!?@~…]/gu,
    (one) => `#${one.codePointAt(0)};`,
  );

/** Draws steps one after the other. Returns the last node. */
function drawChain(steps: readonly Step[], from: string, drawing: Drawing, label?: string): string {
  let last = from;
  for (const [index, step] of steps.entries()) {
    const drawn = drawStep(step, drawing);
    drawing.edge(last, drawn.first, index === 0 ? label : undefined);
    last = drawn.last;
  }
  return last;
}

function drawStep(step: Step, drawing: Drawing): Drawn {
  const drawn = drawKind(step, drawing);
  if (step.fallback && 'kind' in step.fallback) {
    const fallback = drawStep(step.fallback, drawing);
    drawing.edge(drawn.last, fallback.first, 'on error');
  }
  if (step.compensate) drawing.edge(drawn.last, drawing.node(`undo: ${step.compensate.tool}`), 'if the run stops');
  return drawn;
}

function drawKind(step: Step, drawing: Drawing): Drawn {
  switch (step.kind) {
    case 'switch':
      return drawSwitch(step, drawing);
    case 'parallel':
      return drawParallel(step, drawing);
    case 'sequential':
      return drawGroup(step, step.steps, drawing);
    case 'fanout':
      return drawGroup(step, step.steps, drawing);
    case 'loop':
      return drawGroup(step, step.steps, drawing);
    case 'pipeline':
      return drawPipeline(step, drawing);
    default:
      return single(drawing.node(labelOf(step), step.kind === 'approval' ? 'person' : 'box'));
  }
}

function drawGroup(step: Step, steps: readonly Step[], drawing: Drawing): Drawn {
  return drawing.group(labelOf(step), () => {
    const first = drawing.node(step.id, 'round');
    return { first, last: drawChain(steps, first, drawing) };
  });
}

function drawPipeline(step: Extract<Step, { kind: 'pipeline' }>, drawing: Drawing): Drawn {
  return drawing.group(labelOf(step), () => {
    const first = drawing.node(step.id, 'round');
    let last = first;
    for (const part of step.parts) {
      const drawn = 'step' in part ? drawStep(part.step, drawing) : single(drawing.node(partLabel(part)));
      drawing.edge(last, drawn.first);
      last = drawn.last;
    }
    return { first, last };
  });
}

const single = (node: string): Drawn => ({ first: node, last: node });

function partLabel(part: Exclude<PipelinePart, { readonly step: Step }>): string {
  if ('filter' in part) return `filter ${conditionText(part.filter)}`;
  return 'enrich' in part ? `${part.enrich.as}: ${part.enrich.tool} for each item` : 'transform';
}

function drawSwitch(step: Extract<Step, { kind: 'switch' }>, drawing: Drawing): Drawn {
  const first = drawing.node(labelOf(step), 'choice');
  const ends = step.cases.map(({ when, steps }) => drawChain(steps, first, drawing, conditionText(when)));
  ends.push(drawChain(step.else ?? [], first, drawing, 'else'));
  return { first, last: joined(ends, drawing) };
}

function drawParallel(step: Extract<Step, { kind: 'parallel' }>, drawing: Drawing): Drawn {
  const first = drawing.node(labelOf(step), 'choice');
  return {
    first,
    last: joined(
      step.branches.map(({ id, steps }) => drawChain(steps, first, drawing, id)),
      drawing,
    ),
  };
}

function joined(ends: readonly string[], drawing: Drawing): string {
  const last = drawing.node('join', 'round');
  for (const end of new Set(ends)) drawing.edge(end, last);
  return last;
}

const conditionText = (condition: StepCondition): string => {
  if ('cel' in condition) return condition.cel.replace(/scope\["([\w-]+)"\]/g, '$$$1');
  const mapping = condition.truthy;
  return 'ref' in mapping ? mapping.ref.text : 'value' in mapping ? JSON.stringify(mapping.value) : 'condition';
};

function labelOf(step: Step): string {
  const condition = step.if ? ` if ${conditionText(step.if)}` : '';
  return `${step.id}: ${whatItDoes(step)}${condition}`;
}

function whatItDoes(step: Step): string {
  switch (step.kind) {
    case 'tool':
      return step.tool;
    case 'workflow':
      return `workflow ${step.workflow}`;
    case 'parallel':
      return `parallel ${step.mode}`;
    case 'fanout':
      return `for each ${step.as}, ${step.maxConcurrency} at once`;
    case 'loop':
      return `loop, ${step.maxIterations} times at most`;
    default:
      return step.kind;
  }
}
