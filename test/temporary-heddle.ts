import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../src/core/call.ts';
import { type OpenOptions, openHeddle as openClient } from '../src/index.ts';
import { type HeddleOptions, openHeddle } from '../src/open-heddle.ts';

interface ProjectOptions {
  /** The project folder. Without it the test gets a new one. */
  readonly folder?: string | undefined;
  /** The content of heddle.json. With it the project is trusted. */
  readonly config?: JsonObject | false | undefined;
  /** Environment variables, `PATH` alone by default. `HEDDLE_HOME` is added. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

type WithProject<Options> = Omit<Options, 'cwd' | 'env' | 'config'> & ProjectOptions;

/** Creates a folder, and deletes it when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Opens the `Heddle` of the front ends in a temporary folder. Closes it when the test ends. */
export async function temporaryHeddle({ folder, config, env, ...options }: WithProject<HeddleOptions> = {}) {
  return closeAfterTest(await openHeddle({ ...(await prepareProject({ folder, config, env })), ...options }));
}

/** Opens the `HeddleClient` of the library in a temporary folder. Closes it when the test ends. */
export async function temporaryHeddleClient({ folder, config, env, ...options }: WithProject<OpenOptions> = {}) {
  return closeAfterTest(await openClient({ ...(await prepareProject({ folder, config, env })), ...options }));
}

async function prepareProject({ folder, config, env = { PATH: process.env.PATH } }: ProjectOptions) {
  const cwd = folder ?? (await temporaryFolder());
  if (config) await writeFile(join(cwd, 'heddle.json'), JSON.stringify(config));
  return { cwd, env: { ...env, HEDDLE_HOME: join(cwd, 'home') }, ...(config && { trustProject: true }) };
}

function closeAfterTest<Opened extends { close(): Promise<void> }>(opened: Opened): Opened {
  onTestFinished(() => opened.close());
  return opened;
}
