import type { Json, JsonObject } from '../../core/call.ts';
import { cutAndEscape, cutText } from '../../core/text/cut-text.ts';
import { redactText } from '../../core/text/redact-text.ts';
import type { StoredApproval } from '../../store/approval-box.ts';
import { sanitised } from '../sanitise.ts';

const MAX_DESCRIPTION_CHARS = 2000;

/** Returns the JSON that the webhook gets: no exact arguments, and nothing that only the store needs. */
export function webhookBody(approval: StoredApproval, now: number): string {
  const { id, subject, requestedBy, via, profile, requestedAt, expiresAt, reasons, rule, approvalRule, stages } =
    approval;
  const {
    kind,
    name,
    description,
    servers,
    riskLevel,
    requires,
    arguments: input,
    extraParams,
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
      ...(changedByHooks && { changedByHooks: cleaned(changedByHooks) }),
      ...(preview && { preview: shown(redactText(cutText(preview.join('\n'), 2 * MAX_DESCRIPTION_CHARS))) }),
      requestedBy: shown(requestedBy),
      via,
      ...(profile !== undefined && { profile }),
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

const shown = (text: string) => cutAndEscape(text, MAX_DESCRIPTION_CHARS);

const cleaned = (value: Json): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? sanitised(value as JsonObject) : null;
