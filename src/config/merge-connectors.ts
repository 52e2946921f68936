import type { Scope } from './config.ts';
import type { Layer, LayerConnector } from './read/layer.ts';

/** A connector and the layer it was found in. */
export interface FoundConnector extends LayerConnector {
  readonly scope: Scope;
  readonly needsTrust: boolean;
}

/** All connectors in force: each stands alone, as servers do, and of those with one name the first counts. */
export function connectorsOf(layers: readonly Layer[]): readonly FoundConnector[] {
  const found = layers.flatMap(({ scope, needsTrust = false, connectors }) =>
    connectors.map((connector) => ({ ...connector, scope, needsTrust })),
  );
  return found.filter(({ name }, index) => found.findIndex((other) => other.name === name) === index);
}
