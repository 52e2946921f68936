import type { Untrusted } from '../../config/config.ts';
import { readConfig } from '../../config/read-config.ts';
import { forgetTrust, recordTrust } from '../../config/sources/trust-book.ts';
import { HeddleError } from '../../core/errors.ts';
import { closest } from '../../core/text/did-you-mean.ts';
import { oneLine, quoteName } from '../../core/text/visible-text.ts';
import { homeFolder } from '../../files/home-folder.ts';
import { noteAct } from '../acts.ts';
import { type Command, type Input, JSON_OPTION } from '../command.ts';
import { askNo, canAsk } from '../input/ask.ts';
import { following } from '../print/escape-control.ts';
import { printJson } from '../print/print-json.ts';
import { notice } from '../print/print-line.ts';
import { showWhole } from '../print/show-whole.ts';

export const trust: Command = {
  summary: 'Agree, once, to servers and settings of this project and of connectors. What changes later asks again.',
  usage: 'heddle trust [server …] [--yes] | heddle trust --forget',
  examples: ['heddle trust', 'heddle trust github --yes', 'heddle trust --forget'],
  maxPositionals: Number.POSITIVE_INFINITY,
  options: {
    yes: { type: 'boolean', help: 'Agree without being asked' },
    forget: { type: 'boolean', help: 'Take back every agreement about this project and about your connectors' },
    json: JSON_OPTION,
  },
  async run(input) {
    const home = homeFolder(process.env);
    if (input.flag('forget')) {
      const { projectFolder } = await readConfig();
      for (const page of [projectFolder, home]) await forgetTrust(home, page);
      noteAct({ forgotten: projectFolder });
      notice(`All agreements about ${projectFolder} and your connectors are revoked.`);
      return 0;
    }
    const code = await trustOnce(input, home);
    if (code !== 0 || input.positionals.length > 0 || input.flag('json')) return code;
    // Trusted settings can name workflow files, and trusted connectors servers. Those need trust of their own.
    const { untrusted } = await readConfig();
    if (untrusted.length === 0) return code;
    if (!input.flag('yes')) return trustOnce(input, home);
    const more = untrusted.map(({ thing }) => thing).join(', ');
    notice(`They name more that waits for trust: ${more}. To see it, run \`heddle trust\`.`);
    return code;
  },
};

/** Shows what waits for trust, asks, and records the agreement. Returns the exit code. */
async function trustOnce(input: Input, home: string): Promise<number> {
  const { projectFolder, untrusted } = await readConfig();
  const things = chosen(untrusted, input.positionals);
  if (things.length === 0) {
    if (input.flag('json')) printJson(things);
    notice(`Nothing of ${projectFolder} waits for trust.`);
    return 0;
  }
  const asks = !input.flag('yes') && canAsk();
  if (input.flag('json')) printJson(things);
  else if (!asks) process.stdout.write(`${things.map(inText(process.stdout)).join('\n')}\n`);
  if (!input.flag('yes') && !(await agrees(things))) return 3;
  const pages = Map.groupBy(things, ({ everywhere }) => (everywhere ? home : projectFolder));
  for (const [page, agreed] of pages) {
    await recordTrust(home, page, Object.fromEntries(agreed.map(({ thing, hash }) => [thing, hash])));
  }
  noteAct({ trusted: things.map(({ thing, hash }) => ({ thing, hash })), project: projectFolder });
  notice(`Trusted: ${things.map(({ thing }) => thing).join(', ')}.`);
  return 0;
}

function chosen(untrusted: readonly Untrusted[], names: readonly string[]): readonly Untrusted[] {
  if (names.length === 0) return untrusted;
  return names.map((name) => {
    const found =
      untrusted.find(({ thing }) => thing === `server ${name}`) ??
      untrusted.find(({ thing }) => nameIn(thing) === name);
    if (found) return found;
    const guess = closest(
      name,
      untrusted.map(({ thing }) => nameIn(thing)),
    );
    const fix = guess ? `Did you mean ${quoteName(guess)}?` : 'Run `heddle trust` to see what does.';
    throw new HeddleError('NAME_UNKNOWN', `Nothing named ${name} waits for trust.`, { fix });
  });
}

/** Returns the name of a thing without its kind. */
const nameIn = (thing: string): string => thing.slice(thing.indexOf(' ') + 1);

async function agrees(things: readonly Untrusted[]): Promise<boolean> {
  const whole = things.map(inText(process.stderr)).join('\n');
  const yes = canAsk() ? (await showWhole(whole)) && (await askNo('Trust all of this?')) : undefined;
  const how = ' When you have looked at it, run the command again with --yes.';
  if (!yes) notice(`Nothing was trusted.${yes === undefined ? how : ''}`);
  return yes ?? false;
}

/** Formats an untrusted thing in full: the user agrees only to what is shown. */
const inText =
  (stream: NodeJS.WriteStream) =>
  ({ thing, would, also, at }: Untrusted): string => {
    const more = [...also, ...(at ? [`written in ${at.file}:${at.line}`] : [])];
    return [`${thing} would ${would}`, ...more]
      .map((line, index) => following(index === 0 ? '' : '    ', oneLine(line), stream))
      .join('\n');
  };
