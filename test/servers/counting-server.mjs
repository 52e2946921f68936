// A stdio server of the era in ERA, legacy by default. It appends a line to the file COUNTS for every request that acts.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { countingResponses } from './counting-responses.ts';

const respond = countingResponses({
  era: process.env.ERA ?? 'legacy',
  count: (line) => appendFileSync(process.env.COUNTS, `${line}\n`),
});

createInterface({ input: process.stdin })
  .on('line', (line) => respond(JSON.parse(line), (message) => process.stdout.write(`${JSON.stringify(message)}\n`)))
  .on('close', () => process.exit(0));
