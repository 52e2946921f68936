import { extensionsIn, UI_EXTENSION } from '../../core/call/extensions.ts';
import type { Extensions, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** The extensions of one server. A client's extension reaches servers only if a server has it. */
export interface DeclaredExtensions {
  /** Returns the extensions of the last handshake, with their settings; undefined if there are none. */
  declared(): Extensions | undefined;
  /** Tests whether the server has an extension: by its handshake, its entry, or MCP Apps by a tool with a view. */
  has(id: string): boolean;
  /** Takes the server capabilities of a handshake. */
  take(capabilities: JsonObject): void;
  /** Takes tools that the server listed to one user alone. */
  takeTools(tools: readonly JsonObject[]): void;
}

export interface DeclaredExtensionsOptions {
  /** The ids in `extensions` of the server's entry. */
  readonly configured?: readonly string[] | undefined;
  /** The extensions of the last handshake before this process. */
  readonly remembered: Extensions | undefined;
  /** Returns the known lists of tools. */
  readonly tools: () => Iterable<readonly JsonObject[]>;
}

export function declaredExtensions(options: DeclaredExtensionsOptions): DeclaredExtensions {
  const { configured = [], remembered, tools } = options;
  let declared = remembered;
  let hasPrivateViews = false;

  function hasViews(): boolean {
    if (hasPrivateViews) return true;
    for (const list of tools()) if (namesViews(list)) return true;
    return false;
  }

  return {
    declared: () => declared,
    has: (id) =>
      configured.includes(id) ||
      (declared !== undefined && Object.hasOwn(declared, id)) ||
      (id === UI_EXTENSION && hasViews()),
    take(capabilities) {
      declared = extensionsIn(capabilities);
    },
    takeTools(list) {
      hasPrivateViews ||= namesViews(list);
    },
  };
}

// The lists of a connection are replaced whole, so each is searched once.
const searched = new WeakMap<readonly JsonObject[], boolean>();

function namesViews(tools: readonly JsonObject[]): boolean {
  const known = searched.get(tools);
  if (known !== undefined) return known;
  const found = tools.some(({ _meta }) => isObject(_meta) && (isObject(_meta.ui) || 'ui/resourceUri' in _meta));
  searched.set(tools, found);
  return found;
}
