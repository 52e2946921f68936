import { lstat } from 'node:fs/promises';
import { type EditTarget, schemaFileOf } from '../../config/edit/edit-scopes.ts';
import { configJsonSchema } from '../../config/schema/json-schema.ts';
import { readTextFile, replaceFile } from '../../files/edit-file.ts';
import { homeFolder } from '../../files/home-folder.ts';

/** Writes the JSON Schema that `$schema` of an edited file refers to, unless it is there already. */
export async function writeSchema(target: EditTarget, text: string): Promise<void> {
  const file = schemaFileOf(target);
  if (file === undefined || !text.includes(JSON.stringify(target.schema))) return;
  if (await isLink(file)) return; // A repository can ship a symbolic link to any file.
  const schema = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
  if ((await readTextFile(file)) !== schema) await replaceFile(file, schema, { home: homeFolder(process.env) });
}

const isLink = (file: string): Promise<boolean> =>
  lstat(file).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
