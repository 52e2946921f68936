import type { JsonObject } from '../../core/call.ts';
import type { AddLoss } from '../loss.ts';
import { linearPattern } from './linear-pattern.ts';
import type { Notes } from './shape.ts';

// Keywords that only a validator can check; the model gets them as description.
const DESCRIBED_KEYWORDS = ['not', 'if', 'dependentRequired', 'dependentSchemas', 'contains'];
const MAX_SHOWN_CHARS = 200;

/** Returns the annotations of a schema, and as text the constraints that no shape can hold. */
export function notesOf(schema: JsonObject, at: string, lose: AddLoss): Notes {
  const described = DESCRIBED_KEYWORDS.filter((keyword) => schema[keyword] !== undefined);
  for (const keyword of described) lose(at, keyword, 'wider', 'It is in the description only.');
  const isUnmatched = typeof schema.pattern === 'string' && !linearPattern(schema.pattern);
  if (isUnmatched)
    lose(at, 'pattern', 'wider', 'It cannot be matched in linear time, so it is in the description only.');
  const sentences = [...described, ...(isUnmatched ? ['pattern'] : [])].map((keyword) =>
    describeKeyword(keyword, schema[keyword]),
  );
  const description = [schema.description, ...sentences].filter((text) => typeof text === 'string').join(' ');
  return {
    ...(typeof schema.title === 'string' && { title: schema.title }),
    ...(description !== '' && { description }),
    ...(schema.default !== undefined && { default: schema.default }),
    ...(Array.isArray(schema.examples) && { examples: schema.examples }),
  };
}

/** Describes a constraint in a sentence. */
export function describeKeyword(keyword: string, value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return `(${keyword}: ${text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : text})`;
}
