import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../src/core/call.ts';
import { type OpenOptions, openHeddle as openClient } from '../src/index.ts';
import { type HeddleOptions, openHeddle } from '../src/open-heddle.ts';

interface Place {
  /** The project folder. Without it the test gets a new one. */
  readonly folder?: string | undefined;
  /** The content of heddle.json. With it the project is trusted. */
  readonly config?: JsonObject | false | undefined;
  /** Environment variables, `PATH` alone by default. `HEDDLE_HOME` is added. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

type PlacedOptions<Options> = Omit<Options, 'cwd' | 'env' | 'config'> & Place;

/** Creates a folder, and deletes it when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens what front ends use, in a temporary folder. Closes it when the test ends. */
export async function temporaryHeddle({ folder, config, env, ...options }: PlacedOptions<HeddleOptions> = {}) {
  return closeAfterTest(await openHeddle({ ...(await place({ folder, config, env })), ...options }));
}

/** Opens what programs import, in a temporary folder. Closes it when the test ends. */
export async function temporaryHeddleClient({ folder, config, env, ...options }: PlacedOptions<OpenOptions> = {}) {
  return closeAfterTest(await openClient({ ...(await place({ folder, config, env })), ...options }));
}

async function place({ folder, config, env = { PATH: process.env.PATH } }: Place) {
  const cwd = folder ?? (await temporaryFolder());
  if (config) await writeFile(join(cwd, 'heddle.json'), JSON.stringify(config));
  return { cwd, env: { ...env, HEDDLE_HOME: join(cwd, 'home') }, ...(config && { trustProject: true }) };
}

function closeAfterTest<Opened extends { close(): Promise<void> }>(opened: Opened): Opened {
  onTestFinished(() => opened.close());
  return opened;
}
