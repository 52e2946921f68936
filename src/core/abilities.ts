import type { Abilities, JsonObject, Question } from './call.ts';

/** Of a user who cannot be asked anything. */
export const NO_ABILITIES: Abilities = { form: false, url: false, sampling: false, samplingTools: false, roots: false };

/** Whether somebody with these abilities can be asked this. */
export function isAble(can: Abilities, { method, params = {} }: Question): boolean {
  if (method === 'roots/list') return can.roots;
  if (method === 'elicitation/create') return params.mode === 'url' ? can.url : can.form;
  return can.sampling && (!needsTools(params) || can.samplingTools);
}

const needsTools = ({ tools, toolChoice }: JsonObject) => tools !== undefined || toolChoice !== undefined;

/** What a client has to support to be asked this, for people to read. */
export function abilityFor({ method, params = {} }: Question): string {
  if (method === 'roots/list') return 'roots';
  if (method === 'elicitation/create') return `elicitation by ${params.mode === 'url' ? 'URL' : 'form'}`;
  return needsTools(params) ? 'sampling with tools' : 'sampling';
}

/** What a program gives `openHeddle` to be asked this; undefined where it could not answer. */
export function callbackFor({ method, params = {} }: Question): string | undefined {
  if (method === 'roots/list') return 'roots';
  if (method === 'elicitation/create') return 'elicit';
  return needsTools(params) ? undefined : 'sample';
}

/** Whether there is anything at all that can be asked. */
export const isAskable = (can: Abilities): boolean => can.form || can.url || can.sampling || can.roots;

/** What both can be asked. */
export const sharedAbilities = (one: Abilities, other: Abilities): Abilities => ({
  form: one.form && other.form,
  url: one.url && other.url,
  sampling: one.sampling && other.sampling,
  samplingTools: one.samplingTools && other.samplingTools,
  roots: one.roots && other.roots,
});

/** One number for one set of abilities; 0 for none. */
export function abilitiesKey(can: Abilities | undefined): number {
  if (!can) return 0;
  return (
    (can.form ? 1 : 0) | (can.url ? 2 : 0) | (can.sampling ? 4 : 0) | (can.samplingTools ? 8 : 0) | (can.roots ? 16 : 0)
  );
}
