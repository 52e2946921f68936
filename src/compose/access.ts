import { createHash, randomBytes } from 'node:crypto';
import type { Config } from '../config/config.ts';
import type { Settings } from '../config/schema/schema.ts';
import { newCallId } from '../core/call/call-id.ts';
import { requireRole } from '../core/call/caller.ts';
import type { Caller, JsonObject } from '../core/call.ts';
import { HeddleError } from '../core/errors.ts';
import { closest } from '../core/text/did-you-mean.ts';
import { quoteName } from '../core/text/visible-text.ts';
import type { Clock } from '../core/time.ts';
import { truncateName } from '../govern/truncate-name.ts';
import type { Access } from '../heddle.ts';
import type { ApiKeyBook } from '../store/api-key-book.ts';
import type { AuditLog } from '../store/audit-log.ts';
import type { ForgetAccountsOptions } from './sign-in/forget-accounts.ts';

export interface AccessOptions extends ForgetAccountsOptions {
  readonly store: { readonly keys: ApiKeyBook; readonly audit: AuditLog };
  readonly config: () => Pick<Config, 'settings' | 'untrusted'>;
  readonly clock: Clock;
}

const KEY_BYTES = 32;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** Returns the administration of API keys. Creating and revoking requires `owner` and writes an audit record. */
export function access(options: AccessOptions): Access {
  const { store, config, clock } = options;
  const { keys, audit } = store;
  const settings = () => config().settings;
  const untrustedFile = (profile: string) => untrustedFileWith(profile, config().untrusted);
  const configured = () => settings().gateway.apiKeys;
  let isPerson: ((source: string, claims: JsonObject) => boolean) | undefined;

  async function recordChange(by: Caller, action: string, detail: JsonObject): Promise<void> {
    requireRole(by, ['owner']);
    const { id: caller, via } = by;
    const name = `keys.${action}`;
    await audit.appendDurably({ callId: newCallId(), phase: 'intent', at: clock(), caller, via, name, detail });
  }

  return {
    settings,
    waitingProfile: untrustedFile,
    async keyOf(sha256) {
      return (await keys.find(sha256)) ?? configured().find((key) => key.sha256 === sha256);
    },
    async isPerson(claims) {
      const { auth } = settings().gateway;
      if (auth === undefined || auth === 'none' || auth.person === undefined) return false;
      const { personTest } = await import('./approvals/token-person.ts');
      isPerson ??= personTest();
      return isPerson(auth.person, claims);
    },
    async keys(by) {
      requireRole(by, ['owner', 'auditor']);
      const stored = (await keys.all()).map((key) => ({ ...key, from: 'store' as const }));
      return [...stored, ...configured().map((key) => ({ ...key, from: 'configuration' as const }))];
    },
    async createKey(by, { name, roles, profile, person }) {
      if (!NAME.test(name)) throw notAName(name);
      if (profile !== undefined && !Object.hasOwn(settings().profiles, profile)) {
        const file = untrustedFile(profile);
        throw file === undefined ? noProfile(profile, settings()) : untrustedProfile(profile, file);
      }
      await recordChange(by, 'create', { key: name, roles, profile, person });
      const key = `hk_${randomBytes(KEY_BYTES).toString('base64url')}`;
      const sha256 = createHash('sha256').update(key).digest('hex');
      const limits = { ...(profile !== undefined && { profile }), ...(person && { person }) };
      const record = { name, sha256, roles, createdAt: clock(), ...limits };
      // A name identifies one caller for rules and the audit log, whether its key is stored or configured.
      const free = !configured().some((one) => one.name === name) && (await keys.add(record));
      if (!free) throw taken(name);
      // An earlier key of this name may have left accounts: it was in the configuration, or its revocation was cut off.
      try {
        await forgetAccountsOf(name, options);
      } catch (thrown) {
        await keys.remove(name).catch(() => {}); // Its secret was never shown, and the name would stay taken.
        throw thrown;
      }
      return key;
    },
    async revokeKey(by, name) {
      await recordChange(by, 'revoke', { key: name });
      if (await keys.remove(name)) return forgetAccountsOf(name, options);
      const isConfigured = configured().some((key) => key.name === name);
      throw isConfigured ? inConfiguration(name) : noKey(name, await keys.all());
    },
    refused({ id: caller, via, profile }, { callId, name, reason }) {
      const detail = { outcome: 'refused', reason, profile };
      audit.append({ callId, phase: 'outcome', at: clock(), caller, via, name: truncateName(name), detail });
    },
  };
}

/** Removes the accounts of a key at servers: a later key of the same name must not get them. */
async function forgetAccountsOf(key: string, options: ForgetAccountsOptions): Promise<void> {
  const { forgetAccounts } = await import('./sign-in/forget-accounts.ts');
  await forgetAccounts(options, `key:${key}`);
}

const notAName = (name: string) =>
  new HeddleError('USAGE_INVALID', `${JSON.stringify(name)} cannot be the name of a key.`, {
    fix: 'Use up to 64 letters, digits, `.`, `-` and `_`.',
  });

const taken = (name: string) =>
  new HeddleError('NAME_TAKEN', `There is a key ${name} already.`, {
    fix: `Choose another name, or run \`heddle key revoke ${name}\` first.`,
  });

function noProfile(profile: string, { profiles }: Pick<Settings, 'profiles'>): HeddleError {
  const meant = closest(profile, Object.keys(profiles));
  return new HeddleError('NAME_UNKNOWN', `There is no profile ${profile}.`, {
    fix: meant === undefined ? 'Write it under `profiles` in heddle.json first.' : `Did you mean ${quoteName(meant)}?`,
  });
}

/** Returns the untrusted file that defines this profile. */
function untrustedFileWith(profile: string, untrusted: Config['untrusted']): string | undefined {
  const definesProfile = (line: string) =>
    line.startsWith('profiles: ') && line.includes(`${JSON.stringify(profile)}:`);
  return untrusted.find(({ also }) => also.some(definesProfile))?.at?.file;
}

const untrustedProfile = (profile: string, file: string) =>
  new HeddleError('NAME_UNKNOWN', `The profile ${profile} is in ${file}, which is not trusted yet.`, {
    fix: 'Look at the file, then run `heddle trust` once.',
  });

const inConfiguration = (name: string) =>
  new HeddleError('NAME_UNKNOWN', `The key ${name} is written in the configuration and cannot be revoked here.`, {
    fix: 'Remove it from `gateway.apiKeys`; a running gateway notices at once.',
  });

function noKey(name: string, keys: readonly { readonly name: string }[]): HeddleError {
  const meant = closest(
    name,
    keys.map((key) => key.name),
  );
  return new HeddleError('NAME_UNKNOWN', `There is no key ${name}.`, {
    fix: meant === undefined ? 'Run `heddle key list` to see all.' : `Did you mean ${quoteName(meant)}?`,
  });
}
