import { HeddleError } from '../../core/errors.ts';
import type { Connect } from '../connection.ts';
import { wasLostAtProbe } from './negotiate.ts';

/**
 * Connects again with `initialize` when a server of unknown era ends at the probe: some servers end when the first
 * request is not `initialize`.
 */
export function retryAsLegacy(connect: Connect): Connect {
  return async function connectOrLegacy(options) {
    try {
      return await connect(options);
    } catch (thrown) {
      const isEraOpen = options.known === undefined && options.protocol === undefined;
      const mayBeLegacy = isEraOpen && HeddleError.is(thrown) && wasLostAtProbe(thrown);
      if (!mayBeLegacy || options.signal.aborted) throw thrown;
      return connect({ ...options, known: 'legacy' });
    }
  };
}
