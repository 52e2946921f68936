import { HeddleError } from '../../core/errors.ts';

export type DbosSdk = typeof import('@dbos-inc/dbos-sdk');

/** Imports DBOS, which takes about 140 ms. Throws DRIVER_MISSING if the package is not installed. */
export async function loadDbos(load: () => Promise<DbosSdk> = () => import('@dbos-inc/dbos-sdk')): Promise<DbosSdk> {
  try {
    return await load();
  } catch (cause) {
    const message = 'Workflows on a Postgres store need the package `@dbos-inc/dbos-sdk`, which is not installed.';
    throw new HeddleError('DRIVER_MISSING', message, {
      cause,
      fix: 'Install it beside heddle: `npm install @dbos-inc/dbos-sdk`.',
    });
  }
}
