import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { workflowJsonSchema } from '../src/workflow/definition/json-schema.ts';

/** Writes the JSON Schema of workflows, for editors. */
const file = join(import.meta.dirname, '..', 'docs', 'workflow.schema.json');
writeFileSync(file, `${JSON.stringify(workflowJsonSchema(), null, 2)}\n`);
