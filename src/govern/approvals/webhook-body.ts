import type { Json, JsonObject } from '../../core/call.ts';
import { cutAndEscape } from '../../core/text/cut-text.ts';
import { redactBeginning } from '../../core/text/redact-text.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { sanitised } from '../sanitise.ts';

const MAX_DESCRIPTION_CHARS = 2000;
const MAX_SEARCHED_CHARS = 2 * MAX_DESCRIPTION_CHARS;

/** Returns the JSON that the webhook gets: no exact arguments, and nothing that only the store needs. */
export function webhookBody(approval: StoredApproval, now: number): string {
  const { id, subject, requestedBy, via, profile, agent, requestedAt, expiresAt, reasons, rule } = approval;
  const { approvalRule, stages } = approval;
  const {
    kind,
    name,
    description,
    servers,
    riskLevel,
    requires,
    arguments: input,
    extraParams,
    meta,
    changedByHooks,
    preview,
  } = subject;
  return JSON.stringify({
    event: 'approval.requested',
    sentAt: new Date(now).toISOString(),
    approval: {
      id,
      kind,
      name: shown(name),
      ...(description !== undefined && { description: shown(description) }),
      servers,
      riskLevel,
      ...(requires && { requires }),
      arguments: cleaned(input),
      ...(extraParams && { extraParams: cleaned(extraParams) }),
      ...(meta && { meta: cleaned(meta) }),
      ...(changedByHooks && { changedByHooks: cleaned(changedByHooks) }),
      ...(preview && { preview: shownPreview(preview.join('\n')) }),
      requestedBy: shown(requestedBy),
      via,
      ...(profile !== undefined && { profile }),
      ...(agent !== undefined && { agent }),
      requestedAt: new Date(requestedAt).toISOString(),
      expiresAt: new Date(expiresAt).toISOString(),
      reasons: reasons.map(shown),
      rule: shown(rule),
      ...(approvalRule !== undefined && { approvalRule: shown(approvalRule) }),
      stages,
    },
    decide: `heddle approvals show ${id}`,
  });
}

function shownPreview(text: string): string {
  const clean = redactBeginning(text, MAX_SEARCHED_CHARS);
  return shown(text.length > MAX_SEARCHED_CHARS ? `${clean}… [cut]` : clean);
}

const shown = (text: string) => cutAndEscape(text, MAX_DESCRIPTION_CHARS);

const cleaned = (value: Json): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? sanitised(value as JsonObject) : null;
