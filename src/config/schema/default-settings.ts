import { SETTING_DEFAULTS } from './defaults.ts';
import type { Settings, WrittenBuiltins } from './schema.ts';

/** Returns the settings of a configuration that sets none. */
export function defaultSettings(projectFolder: string): Settings {
  const { builtins, ...rest } = SETTING_DEFAULTS;
  return { ...rest, builtins: builtinsIn(builtins, projectFolder) };
}

/** Adds the defaults of built-in servers that depend on the project folder. */
export function builtinsIn({ filesystem, ...others }: WrittenBuiltins, projectFolder: string): Settings['builtins'] {
  return { ...others, filesystem: { allowedPaths: [projectFolder], ...filesystem } };
}
