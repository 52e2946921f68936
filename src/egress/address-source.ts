import type { AddressKind } from './address-kind.ts';

/** The origin of an address: the configuration, or a document that was fetched before. */
export interface AddressSource {
  /** The URL in the configuration that the chain of documents began with. */
  readonly written: string;
  /** The document that named the address; absent for the written URL and for addresses built from it. */
  readonly document?: NamingDocument;
}

/** A fetched document that names further addresses. */
export interface NamingDocument {
  /** The address that responded: after redirects, the last one. */
  readonly url: string;
  /** The network that it came from; `public` if a proxy resolved its name. */
  readonly kind: AddressKind;
}

const LOOPBACK_HOST = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])\.?$/i;

/** Tests whether the host of a URL is a name or an address of this machine, without DNS. */
export const isLoopbackUrl = (url: string): boolean => URL.canParse(url) && LOOPBACK_HOST.test(new URL(url).hostname);

/**
 * Returns the kinds of addresses that may be fetched from. A written address may be private or loopback. A named one may
 * be private only over https and if the document came from the same host or a private address; it may be loopback only
 * if the written URL is.
 */
export function allowedKinds(url: URL, { written, document }: AddressSource): ReadonlySet<AddressKind> {
  const allowed = new Set<AddressKind>(['public']);
  if (!document || isLoopbackUrl(written)) allowed.add('loopback');
  if (!document || isPrivateAllowed(url, document)) allowed.add('private');
  return allowed;
}

function isPrivateAllowed(url: URL, document: NamingDocument): boolean {
  if (url.protocol !== 'https:') return false;
  return document.kind === 'private' || new URL(document.url).hostname === url.hostname;
}
