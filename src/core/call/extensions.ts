import type { Extensions } from '../call.ts';
import { isObject } from '../json.ts';

/** The extension of MCP Apps: tools with views, which are `ui://` resources. */
export const UI_EXTENSION = 'io.modelcontextprotocol/ui';

const MAX_EXTENSIONS = 32;
const MAX_ID_CHARS = 200;
const MAX_CHARS = 16_384;

/**
 * Returns the extensions in a `capabilities` object of a client or server, at most 32 of them and 16 KB in all: they are
 * passed on with each handshake. Later ones are dropped. Returns undefined if there are none.
 */
export function extensionsIn(capabilities: unknown): Extensions | undefined {
  const declared = isObject(capabilities) ? capabilities.extensions : undefined;
  if (!isObject(declared)) return undefined;
  const found: Record<string, Extensions[string]> = {};
  let [count, chars] = [0, 0];
  for (const id in declared) {
    const settings = declared[id];
    if (count === MAX_EXTENSIONS) break;
    if (id.length > MAX_ID_CHARS || id === '__proto__' || !isObject(settings)) continue;
    const size = id.length + JSON.stringify(settings).length;
    if (chars + size > MAX_CHARS) continue;
    found[id] = settings;
    count++;
    chars += size;
  }
  return count === 0 ? undefined : found;
}
