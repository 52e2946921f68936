import type { JsonObject, Target } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { isViewUri } from '../../core/text/view-uri.ts';

const NONE: readonly string[] = [];

/** Returns the `ui://` URIs that a tool definition names in `_meta.ui.resourceUri` and `_meta["ui/resourceUri"]`. */
export function viewUrisOf({ _meta }: JsonObject): readonly string[] {
  if (!isObject(_meta)) return NONE;
  const { ui, 'ui/resourceUri': older } = _meta;
  const newer = isObject(ui) ? ui.resourceUri : undefined;
  if (newer === undefined && older === undefined) return NONE;
  return [...new Set([newer, older])].filter((uri) => typeof uri === 'string' && isViewUri(uri)) as string[];
}

/** Tests whether only views may call a tool: `_meta.ui.visibility` is `["app"]`. */
export function isForAppsOnly({ _meta }: JsonObject): boolean {
  const ui = isObject(_meta) ? _meta.ui : undefined;
  const visibility = isObject(ui) ? ui.visibility : undefined;
  return Array.isArray(visibility) && visibility.includes('app') && !visibility.includes('model');
}

/** A view of a server, and the tools that name it. */
interface NamedView {
  readonly server: string;
  readonly uri: string;
  readonly namedBy: readonly Target[];
}

/** Returns the views that tools name. For a pool it is the view of the server whose definition clients see. */
export function namedViews(tools: readonly Target[], shownServer: (tool: Target) => string): readonly NamedView[] {
  const found = new Map<string, { server: string; uri: string; namedBy: Target[] }>();
  for (const tool of tools) {
    for (const uri of viewUrisOf(tool.definition)) {
      const server = shownServer(tool);
      const key = `${server} ${uri}`;
      const view = found.get(key) ?? { server, uri, namedBy: [] };
      view.namedBy.push(tool);
      found.set(key, view);
    }
  }
  return [...found.values()];
}
