import { SETTING_DEFAULTS } from './defaults.ts';
import type { Settings } from './schema.ts';

/** The settings where nobody says anything. */
export function defaultSettings(projectFolder: string): Settings {
  const { builtins, ...rest } = SETTING_DEFAULTS;
  return { ...rest, builtins: { filesystem: { ...builtins.filesystem, allowedPaths: [projectFolder] } } };
}
