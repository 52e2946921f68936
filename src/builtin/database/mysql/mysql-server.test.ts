import { describe, expect } from 'vitest';
import { verifies } from '../../../../test/requirements.ts';
import { checkMysqlGrants } from './check-mysql-grants.ts';
import { loadMysql } from './load-mysql.ts';
import { readMysqlAddress } from './mysql-address.ts';
import { sqlModeOf } from './mysql-server.ts';

const privileged = (...lines: readonly string[]) => checkMysqlGrants(lines).privileged;

describe('the grants of a MySQL user', () => {
  verifies('B2', 'count as privileged when they reach files, the server or other users', () => {
    expect(privileged('GRANT ALL PRIVILEGES ON *.* TO `root`@`%` WITH GRANT OPTION')).toEqual([
      'ALL PRIVILEGES',
      'GRANT OPTION',
    ]);
    expect(privileged('GRANT SELECT, FILE ON *.* TO `a`@`%`')).toEqual(['FILE']);
    expect(privileged('GRANT SUPER, SHUTDOWN, REPLICATION SLAVE, CREATE USER ON *.* TO `a`@`%`')).toHaveLength(4);
    expect(privileged('GRANT BACKUP_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`')).toHaveLength(2);
    expect(privileged('GRANT SELECT ON `shop`.* TO `a`@`%` WITH GRANT OPTION')).toEqual(['GRANT OPTION']);
    expect(privileged("GRANT PROXY ON ''@'%' TO 'a'@'%'")).toEqual(['PROXY']);
  });

  verifies('B2', 'count as reading or writing otherwise', () => {
    const reading = [
      "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*AB'",
      'GRANT SELECT, SHOW VIEW, EXECUTE ON `sh``op`.* TO `a`@`%`',
      'GRANT SELECT (`on`, `file`), REFERENCES ON `shop`.`t` TO `a`@`%`',
      'GRANT `super`@`%` TO `a`@`%`',
      'GRANT PROCESS, REPLICATION CLIENT ON *.* TO `a`@`%`',
    ];
    expect(checkMysqlGrants(reading)).toEqual({ privileged: [], canWrite: false });
    expect(checkMysqlGrants(['GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`'])).toEqual({
      privileged: [],
      canWrite: true,
    });
    expect(checkMysqlGrants(['GRANT INSERT (`a`) ON `shop`.`t` TO `a`@`%`'])).toEqual({
      privileged: [],
      canWrite: true,
    });
  });
});

describe('a MySQL connection', () => {
  const connection = { name: 'shop', type: 'mysql', access: 'read', allowDdl: false } as const;
  const address = (url: string) =>
    readMysqlAddress({ ...connection, allowPrivilegedRole: false, allowFunctions: [], url });

  verifies('B2', 'takes no option of the driver from its URL', () => {
    expect(address('mysql://a%40b:p%2Fw@[::1]:3307/sh%20op?ssl=true')).toEqual({
      host: '::1',
      port: 3307,
      user: 'a@b',
      password: 'p/w',
      database: 'sh op',
      ssl: true,
    });
    expect(() => address('mysql://a:secret@h/x?multipleStatements=true')).toThrow(
      /other parameters than sslmode and ssl/,
    );
    expect(() => address('postgres://a:secret@h/x')).toThrow(/^(?!.*secret).*is no mysql:\/\/ URL/);
  });

  verifies('B2', 'names the package and the connection when the driver is missing', async () => {
    const missing = () => Promise.reject(new Error("Cannot find package 'mysql2'"));
    await expect(loadMysql('shop', missing)).rejects.toMatchObject({
      code: 'DRIVER_MISSING',
      message: expect.stringMatching(/"shop".*mysql2/),
    });
  });

  verifies('B2', 'has the driver check the certificate and its name', async () => {
    const given: unknown[] = [];
    const driver = await loadMysql('shop', async () => ({
      default: { createConnection: (options: { readonly ssl?: unknown }) => given.push(options.ssl) },
    }));
    const address = { host: 'db.example.com', port: 1, user: undefined, password: undefined, database: undefined };
    driver.connect({ ...address, ssl: true });
    driver.connect({ ...address, ssl: false });
    expect(given).toEqual([{ rejectUnauthorized: true, verifyIdentity: true }, undefined]);
  });

  verifies('B2', 'knows how the mode of its sessions quotes', () => {
    const mode = (sqlMode: string) => sqlModeOf({ isMariadb: true, sqlMode, warnings: [] });
    expect(mode('ANSI,ANSI_QUOTES,IGNORE_SPACE')).toEqual({ ansiQuotes: true, noBackslashEscapes: false });
    expect(mode('NO_BACKSLASH_ESCAPES')).toEqual({ ansiQuotes: false, noBackslashEscapes: true });
  });
});
