import { getNodeValue } from 'jsonc-parser';
import type { Json } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { editBody, textBody } from './edit-servers.ts';
import { objectAt, withItem, withMember, withoutItem } from './edit-text.ts';

/** The effects of permission rules, the strictest first. */
export const RULE_EFFECTS = ['deny', 'ask', 'allow'] as const;
export type RuleEffect = (typeof RULE_EFFECTS)[number];

/** Adds a rule to `permissions.<effect>`, and removes it from the other two lists. Comments and layout stay. */
export function withRule(text: string, effect: RuleEffect, rule: string): string {
  if (!writtenRules(text)[effect].includes(rule)) return withoutRule(appended(text, effect, rule), rule, effect);
  return withoutRule(text, rule, effect);
}

/** Removes a rule from every list of `permissions`, except that of `keep`. */
export function withoutRule(text: string, rule: string, keep?: RuleEffect): string {
  const listed = RULE_EFFECTS.filter((effect) => effect !== keep && writtenRules(text)[effect].includes(rule));
  if (listed.length === 0) return text;
  return editBody(text, (body) =>
    listed.reduce((edited, effect) => withoutItem(edited, ['permissions', effect], rule), body),
  );
}

/** Sets one member of the file's object. Comments and layout stay. */
export const withSetting = (text: string, name: string, value: Json): string =>
  editBody(text, (body) => withMember(body, [], { name, value }));

/** Returns the rules of a file as they are written, by effect. */
export function writtenRules(text: string): Readonly<Record<RuleEffect, readonly string[]>> {
  const none = { deny: [], ask: [], allow: [] };
  const body = textBody(text);
  if (body.trim() === '') return none;
  const { permissions } = getNodeValue(objectAt(body, []));
  if (!isObject(permissions)) return none;
  const lists = RULE_EFFECTS.map((effect) => {
    const list = permissions[effect];
    return [effect, Array.isArray(list) ? list.filter((rule) => typeof rule === 'string') : []] as const;
  });
  return { ...none, ...Object.fromEntries(lists) };
}

function appended(text: string, effect: RuleEffect, rule: string): string {
  return editBody(text, (body) => {
    const root = getNodeValue(objectAt(body, []));
    const ready = root.permissions === undefined ? withMember(body, [], { name: 'permissions', value: {} }) : body;
    const permissions = ['permissions'];
    if (root.permissions?.[effect] === undefined)
      return withMember(ready, permissions, { name: effect, value: [rule] });
    return withItem(ready, [...permissions, effect], rule);
  });
}
