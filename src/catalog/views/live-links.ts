import type { Call, Caller, Target } from '../../core/call.ts';
import { isViewUri, viewUri } from '../../core/text/view-uri.ts';
import type { Catalog } from '../catalog.ts';
import type { Owner } from '../entries/facts.ts';
import { unlistedTarget } from '../entries/server-resources.ts';
import { linkedResources } from './linked-resources.ts';
import type { NameLink } from './name-links.ts';

export interface LiveLinksOptions {
  readonly ownerOf: (server: string) => Owner | undefined;
  readonly catalogOf: (caller: Caller) => Catalog;
}

/** The resources that results have linked, beside those of the catalog. */
export interface LiveLinks {
  /** Returns the resources that results have linked to this caller under this name. */
  linked(wanted: Pick<Call, 'caller' | 'name'>): readonly Target[];
  readonly nameLink: NameLink;
  forget(server: string): void;
}

export function liveLinks({ ownerOf, catalogOf }: LiveLinksOptions): LiveLinks {
  const links = linkedResources();
  return {
    linked({ caller, name }) {
      return links.of(caller.id, name).flatMap(({ server, uri, from }) => {
        const owner = ownerOf(server);
        return owner ? [unlistedTarget({ server, uri, namedBy: [from] }, name, owner)] : [];
      });
    },
    nameLink({ caller, target }, server, uri) {
      const { resources } = catalogOf(caller);
      const own = resources.nameOf(server, uri);
      // The caller may have got the URI from a server that does not list it either.
      const isOfOther = own === uri && isViewUri(uri) && links.of(caller.id, uri).some((one) => one.server !== server);
      const name = isOfOther ? viewUri(server, uri) : own;
      if (!resources.lists(server, uri)) links.add(caller.id, { server, uri, name, from: target });
      return name;
    },
    forget: links.forget,
  };
}
