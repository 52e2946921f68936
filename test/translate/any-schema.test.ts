import fc from 'fast-check';
import { expect } from 'vitest';
import { anthropicProblems, geminiProblems, openAiProblems, openAiStrictProblems } from '../../eval/dialect-rules.ts';
import type { Json, JsonObject } from '../../src/core/call.ts';
import { compileSchema } from '../../src/schema/evaluate.ts';
import { checkBudget } from '../../src/schema/step-budget.ts';
import { toAnthropic } from '../../src/translate/anthropic.ts';
import { guessValue, randomFrom, schemas } from '../../src/translate/fixtures.ts';
import { fromGemini } from '../../src/translate/gemini/from-gemini.ts';
import { toGemini } from '../../src/translate/gemini/gemini.ts';
import type { TranslatedTool } from '../../src/translate/loss.ts';
import { toOpenAi } from '../../src/translate/openai/openai.ts';
import { toOpenAiStrict } from '../../src/translate/openai/openai-strict.ts';
import { toZod } from '../../src/translate/zod/zod.ts';
import { verifies } from '../requirements.ts';

const RUNS = process.env.HEDDLE_TEST_SCALE === 'full' ? 3_000 : 150;
const TIMEOUT_MS = RUNS * 400;
const SEED = 20_261_116;
const GUESSES = 8;

/** Tests a value against a schema. Returns undefined when the schema cannot be compiled. */
function checkOf(schema: JsonObject): (value: Json) => boolean | undefined {
  try {
    const budget = checkBudget();
    const fits = compileSchema(schema, budget);
    return (value) => {
      budget.restart();
      try {
        return fits(value);
      } catch {
        return undefined;
      }
    };
  } catch {
    return () => undefined;
  }
}

interface Case {
  translate(tool: JsonObject): TranslatedTool<unknown>;
  problems(value: JsonObject): readonly string[];
  /** The schema that the model gets, as JSON Schema. */
  schema(value: JsonObject): JsonObject;
}

const CASES: { [dialect: string]: Case } = {
  anthropic: { translate: toAnthropic, problems: anthropicProblems, schema: (tool) => tool.input_schema as JsonObject },
  openai: {
    translate: toOpenAi,
    problems: openAiProblems,
    schema: (tool) => (tool.function as JsonObject).parameters as JsonObject,
  },
  'openai strict': {
    translate: toOpenAiStrict,
    problems: (tool) => openAiStrictProblems((tool.function as JsonObject).parameters as JsonObject),
    schema: (tool) => (tool.function as JsonObject).parameters as JsonObject,
  },
  gemini: {
    translate: toGemini,
    problems: geminiProblems,
    schema: (tool) => closed(fromGemini(tool).value.inputSchema) as JsonObject,
  },
};

// Gemini lacks the keyword: properties that are not named do not exist.
function closed(schema: Json | undefined): Json | undefined {
  if (Array.isArray(schema)) return schema.map((one: Json) => closed(one) as Json);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inside = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value as Json)]));
  return [(schema as JsonObject).type].flat().includes('object') ? { ...inside, additionalProperties: false } : inside;
}

for (const [dialect, { translate, problems, schema }] of Object.entries(CASES)) {
  verifies(
    'R9',
    `any schema for ${dialect} is valid there, and its arguments are valid here`,
    () => {
      const counts = { promised: 0, broken: 0 };
      fc.assert(
        fc.property(schemas, fc.nat(), (inputSchema, seed) => {
          const { value, lost, toArguments } = translate({ name: 'tool', description: 'd', inputSchema });
          expect(problems(value as JsonObject)).toEqual([]);
          const translated = schema(value as JsonObject);
          const fitsTranslated = checkOf(translated);
          const fitsOriginal = checkOf(inputSchema);
          const isPromised = !lost.some(({ effect }) => effect === 'wider');
          const random = randomFrom(seed);
          for (let guess = 0; guess < GUESSES; guess++) {
            const sample = guessValue(translated, { root: translated, random });
            if (fitsTranslated(sample) !== true) continue;
            const back = toArguments(sample);
            // Ajv ignores a property of this name.
            const isValid = JSON.stringify(back).includes('__proto__') ? true : fitsOriginal(back);
            if (isPromised) counts.promised++;
            if (isValid !== false) continue;
            counts.broken++;
            expect(isPromised && { sample, arguments: toArguments(sample), translated }).toBe(false);
          }
        }),
        { numRuns: RUNS, seed: SEED },
      );
      expect(counts.promised).toBeGreaterThan(RUNS / 2);
    },
    TIMEOUT_MS,
  );
}

verifies(
  'R9',
  'converts any schema to a zod type that accepts the same values',
  () => {
    const counts = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(schemas, fc.nat(), (original, seed) => {
        const { value: type, lost } = toZod(original);
        const fitsOriginal = checkOf(original);
        const effects = new Set(lost.map(({ effect }) => effect));
        const random = randomFrom(seed);
        for (let guess = 0; guess < GUESSES; guess++) {
          const sample = guessValue(original, { root: original, random });
          // Zod ignores a property of this name.
          if (JSON.stringify(sample).includes('__proto__')) continue;
          const isValid = fitsOriginal(sample);
          const isTaken = type.safeParse(sample).success;
          counts[isTaken ? 'taken' : 'refused']++;
          const isTooWide = isTaken && isValid === false && !effects.has('wider');
          const isTooNarrow = isValid === true && !isTaken && !effects.has('narrower');
          expect({ sample, isTooWide, isTooNarrow }).toEqual({ sample, isTooWide: false, isTooNarrow: false });
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    expect(counts.taken).toBeGreaterThan(RUNS);
    expect(counts.refused).toBeGreaterThan(RUNS / 2);
  },
  TIMEOUT_MS,
);
