import { HeddleError } from '../../core/errors.ts';
import type { Connect } from '../connection.ts';
import { wasLostAtProbe } from './negotiate.ts';

/**
 * The same way to connect, for servers that end when the first thing they hear is not `initialize`: one of which
 * nothing is known is opened once more, and asked as those before discovery are.
 */
export function retryAsLegacy(connect: Connect): Connect {
  return async function connectOrLegacy(options) {
    try {
      return await connect(options);
    } catch (thrown) {
      const isOpen = options.known === undefined && options.protocol === undefined;
      const mayBeLegacy = isOpen && HeddleError.is(thrown) && wasLostAtProbe(thrown);
      if (!mayBeLegacy || options.signal.aborted) throw thrown;
      return connect({ ...options, known: 'legacy' });
    }
  };
}
