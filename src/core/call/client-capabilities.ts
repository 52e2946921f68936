import type { ClientCapabilities, InputRequest, JsonObject } from '../call.ts';

/** Of a user who cannot be asked anything. */
export const NO_CAPABILITIES: ClientCapabilities = {
  form: false,
  url: false,
  sampling: false,
  samplingTools: false,
  roots: false,
};

/** Whether somebody with these abilities can be asked this. */
export function canHandle(capabilities: ClientCapabilities, { method, params = {} }: InputRequest): boolean {
  if (method === 'roots/list') return capabilities.roots;
  if (method === 'elicitation/create') return params.mode === 'url' ? capabilities.url : capabilities.form;
  return capabilities.sampling && (!needsTools(params) || capabilities.samplingTools);
}

const needsTools = ({ tools, toolChoice }: JsonObject) => tools !== undefined || toolChoice !== undefined;

/** What a client has to support to be asked this, for people to read. */
export function requiredCapability({ method, params = {} }: InputRequest): string {
  if (method === 'roots/list') return 'roots';
  if (method === 'elicitation/create') return `elicitation by ${params.mode === 'url' ? 'URL' : 'form'}`;
  return needsTools(params) ? 'sampling with tools' : 'sampling';
}

/** What a program gives `openHeddle` to be asked this; undefined where it could not answer. */
export function callbackFor({ method, params = {} }: InputRequest): string | undefined {
  if (method === 'roots/list') return 'roots';
  if (method === 'elicitation/create') return 'elicit';
  return needsTools(params) ? undefined : 'sample';
}

/** Whether there is anything at all that can be asked. */
export const hasAnyCapability = (capabilities: ClientCapabilities): boolean =>
  capabilities.form || capabilities.url || capabilities.sampling || capabilities.roots;

/** What both can be asked. */
export const sharedCapabilities = (one: ClientCapabilities, other: ClientCapabilities): ClientCapabilities => ({
  form: one.form && other.form,
  url: one.url && other.url,
  sampling: one.sampling && other.sampling,
  samplingTools: one.samplingTools && other.samplingTools,
  roots: one.roots && other.roots,
});

/** One number for one set of abilities; 0 for none. */
export function capabilitiesKey(capabilities: ClientCapabilities | undefined): number {
  if (!capabilities) return 0;
  return (
    (capabilities.form ? 1 : 0) |
    (capabilities.url ? 2 : 0) |
    (capabilities.sampling ? 4 : 0) |
    (capabilities.samplingTools ? 8 : 0) |
    (capabilities.roots ? 16 : 0)
  );
}
