import { expect } from 'vitest';
import { verifies } from '../../../test/requirements.ts';
import { SETTING_DEFAULTS } from '../../config/schema/defaults.ts';
import { anApproval } from '../approvals/fixtures.ts';
import { webhookBody } from '../approvals/webhook-body.ts';
import type { Configured } from './hook.ts';
import { observeApproval } from './observe-approval.ts';

const login = { action: 'accept', content: { password: 'response-marker' } };
const approval = anApproval({
  subject: {
    ...anApproval().subject,
    arguments: { password: 'argument-marker' },
    extraParams: { token: 'param-marker' },
    inputResponses: { login },
    preview: ['SET password = preview-marker'],
    inputDigest: 'digest-marker',
  },
});

verifies(
  'G6',
  'onApproval and the webhook get no secret of the arguments or the preview, nor their digest',
  async () => {
    const seen: unknown[] = [];
    const configured = {
      parts: { audit: { append() {} } },
      hooks: SETTING_DEFAULTS.hooks,
      functions: { onApproval: (event: unknown) => void seen.push(event) },
      sampling: 'allow',
    } as unknown as Configured;
    await observeApproval(configured, approval, new AbortController().signal);
    expect(seen).toMatchObject([{ approval: { id: approval.id, subject: { isSanitised: true } } }]);
    expect(JSON.stringify(seen)).not.toContain('marker');
    expect(webhookBody(approval, 0)).not.toContain('marker');
  },
);
