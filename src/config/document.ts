import type { JsonObject } from '../core/call.ts';
import type { Problem, SourceLocation } from './config.ts';

/** The names and indexes that lead from the root of a JSON value to one of its parts. */
export type JsonPath = readonly (string | number)[];

/** A problem at one path of a document. The rest of the document can be used. */
export interface DocumentFinding {
  readonly path: JsonPath;
  readonly problem: Problem;
}

/** The value of one file, with the location of each of its parts. */
export interface Document {
  readonly file: string;
  /** The text of the file; absent if it was not read as one text. */
  readonly text?: string;
  readonly root: JsonObject;
  readonly findings: readonly DocumentFinding[];
  /** Returns the location of a value or of its name. For a path that is not written: of its nearest written parent. */
  locate(path: JsonPath, part?: 'name' | 'value'): SourceLocation;
}
