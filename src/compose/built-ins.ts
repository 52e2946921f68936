import type { BuiltIn, BuiltInParts } from './built-ins/built-in.ts';
import { builtInDatabase } from './built-ins/database.ts';
import { builtInFilesystem } from './built-ins/filesystem.ts';

/** Returns the servers that ship with Heddle. Nothing is opened before the first call. */
export const builtInsOf = ({
  workflowBuiltIn,
  ...parts
}: BuiltInParts & { readonly workflowBuiltIn: BuiltIn }): readonly BuiltIn[] => [
  builtInFilesystem(parts),
  builtInDatabase(parts),
  workflowBuiltIn,
];
