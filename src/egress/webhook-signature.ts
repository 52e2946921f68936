import { createHmac } from 'node:crypto';

/** Returns the value of the header `Heddle-Signature`: the time in seconds, and the HMAC-SHA256 of `t.body` in hex. */
export function webhookSignature(body: string, secret: string, now: number): string {
  const t = Math.floor(now / 1000);
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')}`;
}
