import { realTimer, repeatEvery } from '../../core/time.ts';
import type { ApprovalWebhook } from '../../govern/approvals/webhook.ts';
import type { RunningParts } from '../running-parts.ts';

/** The interval at which a gateway looks for approvals of other and ended processes. */
export const RECHECK_MS = 30_000;

type WebhookParts = Pick<RunningParts, 'active' | 'store' | 'wallClock' | 'env' | 'options'>;

/** Prepares the webhook of approvals. Its code is loaded when there is something to send. */
export function prepareWebhook({ active, store, wallClock, env, options }: WebhookParts): ApprovalWebhook {
  let opened: Promise<ApprovalWebhook> | undefined;
  const target = () => active().config.settings.approvals.webhook;
  const time = { clock: wallClock, timer: realTimer, random: Math.random };
  const stores = { box: store.approvals, leases: store.leases, audit: store.audit };

  function send(): void {
    if (!target()) return;
    opened ??= import('../../govern/approvals/webhook.ts').then(({ approvalWebhook }) =>
      approvalWebhook({ target, ...stores, ...time, env }),
    );
    void opened.then((webhook) => webhook.send());
  }

  // A gateway is the process that goes on after a restart; a command sends its own approvals only.
  const stop = options.watch ? repeatEvery(realTimer, RECHECK_MS, send) : undefined;
  if (options.watch) send();
  return {
    send,
    async close() {
      stop?.();
      await (await opened)?.close();
    },
  };
}
