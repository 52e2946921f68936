import { previewValue } from '../../config/edit/preview.ts';
import { BUILTINS } from '../../config/schema/server-name.ts';
import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';
import { quoteCommand } from '../../core/text/visible-text.ts';
import { notice } from '../print/print-line.ts';
import type { NamedServer } from './new-servers.ts';

/** A server to add, with the tools that its text runs without a confirmation. */
export interface ApprovedServer extends NamedServer {
  readonly approvals: readonly string[];
}

/** Prints a notice for approvals that a text asks for: another host's are not carried over, Heddle's own are. */
export function noticeApprovals(servers: readonly ApprovedServer[]): void {
  for (const { name, entry, approvals } of servers) {
    if (approvals.length > 0) {
      const tools = approvals.includes('*') ? 'every tool' : approvals.join(', ');
      const rules = approvals.map((tool) => `mcp__${name}__${tool}`);
      notice(
        `${name}: the text lets ${tools} run without a confirmation. That is not carried over. ` +
          `To allow it here, run \`${quoteCommand(['heddle', 'permissions', 'allow', ...rules])}\`.`,
      );
    }
    const own = looseFields(entry);
    if (own.length > 0) notice(`${name}: ${own.join(', ')} of the text let tools run without an approval. Check them.`);
  }
}

/** Prints a notice for each entry with a URL that runs a command, too: a reader expects only an address. */
export function noticeHelpers(servers: readonly NamedServer[]): void {
  for (const { name, entry } of servers) {
    const { headersHelper } = entry;
    if (headersHelper === undefined) continue;
    const written = Array.isArray(headersHelper) ? headersHelper : String(headersHelper).split(' ');
    const words = previewValue(written) as readonly string[];
    notice(
      `${name}: \`headersHelper\` of the text runs a command on this machine at each connect: ${words.join(' ')}. Check it.`,
    );
  }
}

/** Returns Heddle's own fields of an entry that lower the number of approvals. */
function looseFields({ trusted, permissions, tools }: JsonObject): readonly string[] {
  const rules = isObject(permissions) ? permissions : {};
  const facts = Object.entries(isObject(tools) ? tools : {});
  return [
    ...(trusted === true ? ['`trusted`'] : []),
    ...(Array.isArray(rules.allowedTools) && rules.allowedTools.length > 0 ? ['`permissions.allowedTools`'] : []),
    ...['readPermission', 'writePermission'].flatMap((key) =>
      rules[key] === 'allow' ? [`\`permissions.${key}\``] : [],
    ),
    ...facts.flatMap(([tool, fact]) => looseFacts(fact).map((key) => `\`tools.${tool}.${key}\``)),
  ];
}

/** Returns the facts about a tool that lower its approvals. A read-only tool counts as not destructive. */
function looseFacts(fact: Json | undefined): readonly string[] {
  const { requiresApproval, riskLevel, readOnly } = isObject(fact) ? fact : {};
  return [
    ...(requiresApproval === false ? ['requiresApproval'] : []),
    ...(riskLevel === 'low' || riskLevel === 'medium' ? ['riskLevel'] : []),
    ...(readOnly === true ? ['readOnly'] : []),
  ];
}

/** Prints a notice for each server that takes the name of a built-in one. */
export function noticeReplaced(servers: readonly NamedServer[]): void {
  for (const { name } of servers) {
    if (BUILTINS.has(name)) notice(`${name} replaces the server of that name that comes with Heddle.`);
  }
}
