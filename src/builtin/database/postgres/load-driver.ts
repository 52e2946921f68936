import { DatabaseFailure } from '../database-failure.ts';

/** Imports a package of the driver. Throws DRIVER_MISSING, which names package and connection, if it is not installed. */
export async function importDriver<T>(name: string, connection: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const text = `The connection "${connection}" needs the package ${name}, which cannot be loaded. Run \`npm install pg pg-cursor libpg-query\`.`;
    throw new DatabaseFailure('DRIVER_MISSING', text, { cause });
  }
}
