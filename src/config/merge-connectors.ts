import type { Scope } from './config.ts';
import type { Layer, LayerConnector } from './read/layer.ts';

/** A connector with the scope of the layer that lists it. */
export interface FoundConnector extends LayerConnector {
  readonly scope: Scope;
  readonly needsTrust: boolean;
}

/** Returns all connectors in force. Of several with one name, the one of highest precedence wins. */
export function connectorsOf(layers: readonly Layer[]): readonly FoundConnector[] {
  const found = layers.flatMap(({ scope, needsTrust = false, connectors }) =>
    connectors.map((connector) => ({ ...connector, scope, needsTrust })),
  );
  return found.filter(({ name }, index) => found.findIndex((other) => other.name === name) === index);
}
