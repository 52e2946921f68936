import type { JsonObject } from '../../core/call.ts';
import type { AddLoss } from '../loss.ts';
import { linearPattern } from './linear-pattern.ts';
import type { Notes } from './shape.ts';

// Keywords that only a validator can act on, so they are told to the model in words.
const UNSAYABLE = ['not', 'if', 'dependentRequired', 'dependentSchemas', 'contains'];
const MAX_SHOWN_CHARS = 200;

/** What a schema tells its reader, and what it asks that no shape can hold, in words. */
export function notesOf(schema: JsonObject, at: string, lose: AddLoss): Notes {
  const unsaid = UNSAYABLE.filter((keyword) => schema[keyword] !== undefined);
  for (const keyword of unsaid) lose(at, keyword, 'wider', 'It is told to the model in words only.');
  const isUnmatched = typeof schema.pattern === 'string' && !linearPattern(schema.pattern);
  if (isUnmatched) lose(at, 'pattern', 'wider', 'It cannot be matched in linear time, so it is told in words only.');
  const words = [...unsaid, ...(isUnmatched ? ['pattern'] : [])].map((keyword) => inWords(keyword, schema[keyword]));
  const description = [schema.description, ...words].filter((text) => typeof text === 'string').join(' ');
  return {
    ...(typeof schema.title === 'string' && { title: schema.title }),
    ...(description !== '' && { description }),
    ...(schema.default !== undefined && { default: schema.default }),
    ...(Array.isArray(schema.examples) && { examples: schema.examples }),
  };
}

/** A constraint as words that a description can carry. */
export function inWords(keyword: string, value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return `(${keyword}: ${text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS).toWellFormed()}…` : text})`;
}
