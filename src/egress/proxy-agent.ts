import { type Dispatcher, ProxyAgent } from 'undici';
import { HeddleError } from '../core/errors.ts';

/** Opens a dispatcher that sends requests through a proxy. Throws CONFIG_INVALID if its address is no URL. */
export function openProxyAgent(uri: string, options: Omit<ProxyAgent.Options, 'uri'> = {}): Dispatcher {
  try {
    return new ProxyAgent({ ...options, uri });
  } catch (cause) {
    throw new HeddleError('CONFIG_INVALID', 'The proxy that HTTP_PROXY or HTTPS_PROXY names is not a URL.', {
      fix: 'Write it as `http://host:port`.',
      cause,
    });
  }
}
