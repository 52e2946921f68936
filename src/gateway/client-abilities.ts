import { isAskable } from '../core/abilities.ts';
import type { Abilities, JsonObject } from '../core/call.ts';
import { isObject } from '../core/json.ts';
import { META_KEY } from './asked.ts';

/** What a client says that its user can be asked, in either era; undefined when that is nothing. */
export function abilitiesOf(capabilities: unknown): Abilities | undefined {
  const { elicitation, sampling, roots } = isObject(capabilities) ? capabilities : {};
  const asks = isObject(elicitation) ? elicitation : undefined;
  const can = {
    // Forms came first: whoever names no way of asking means them.
    form: asks !== undefined && (isObject(asks.form) || !isObject(asks.url)),
    url: isObject(asks?.url),
    sampling: isObject(sampling),
    samplingTools: isObject(sampling) && isObject(sampling.tools),
    roots: isObject(roots),
  };
  return isAskable(can) ? can : undefined;
}

/** What the envelope of a modern request says of it. */
export const abilitiesIn = ({ _meta }: JsonObject): Abilities | undefined =>
  isObject(_meta) ? abilitiesOf(_meta[META_KEY('clientCapabilities')]) : undefined;
