import { DatabaseFailure } from '../database-failure.ts';

/** Imports a package of the driver. Throws DRIVER_MISSING, which names package and connection, if it is not installed. */
export async function importDriver<T>(name: string, connection: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw driverMissing(name, connection, cause);
  }
}

/** Returns the failure of a connection whose driver is not installed. */
export const driverMissing = (name: string, connection: string, cause: unknown): DatabaseFailure =>
  new DatabaseFailure(
    'DRIVER_MISSING',
    `The connection "${connection}" needs the package ${name}, which cannot be loaded. Run \`npm install pg pg-cursor libpg-query\`.`,
    { cause },
  );
