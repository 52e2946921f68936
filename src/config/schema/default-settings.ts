import { SETTING_DEFAULTS } from './defaults.ts';
import type { Settings } from './schema.ts';

/** Returns the settings of a configuration that sets none. */
export function defaultSettings(projectFolder: string): Settings {
  const { builtins, ...rest } = SETTING_DEFAULTS;
  return { ...rest, builtins: { filesystem: { ...builtins.filesystem, allowedPaths: [projectFolder] } } };
}
