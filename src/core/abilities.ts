import type { Abilities, Question } from './call.ts';

/** Whether somebody with these abilities can be asked this. */
export function isAble(can: Abilities, { method, params = {} }: Question): boolean {
  if (method === 'roots/list') return can.roots;
  if (method === 'elicitation/create') return params.mode === 'url' ? can.url : can.form;
  const needsTools = params.tools !== undefined || params.toolChoice !== undefined;
  return can.sampling && (!needsTools || can.samplingTools);
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
