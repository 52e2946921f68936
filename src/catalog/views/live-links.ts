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
        const catalog = catalogOf(caller);
        const tool = (from.kind === 'tool' ? catalog : catalog.prompts).find(from.publicName);
        return owner && tool ? [unlistedTarget({ server, uri, namedBy: [tool] }, name, owner)] : [];
      });
    },
    nameLink({ caller, target }, server, uri) {
      const { resources } = catalogOf(caller);
      const own = resources.nameOf(server, uri);
      // The caller may have got the URI from a server that does not list it either.
      const isOfOther = own === uri && isViewUri(uri) && links.of(caller.id, uri).some((one) => one.server !== server);
      const name = isOfOther ? viewUri(server, uri) : own;
      const from = { kind: target.kind === 'prompt' ? 'prompt' : 'tool', publicName: target.publicName } as const;
      if (!resources.lists(server, uri)) links.add(caller.id, { server, uri, name, from });
      return name;
    },
    forget: links.forget,
  };
}
