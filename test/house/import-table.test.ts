import { expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const RULES = ['.dependency-cruiser.cjs', 'tsconfig.json'];

function cruise(written: Readonly<Record<string, string>>) {
  const { code, stdout } = runCommand(['depcruise', 'src'], { cwd: temporaryTree({ copied: RULES, written }) });
  return { code, named: stdout };
}

/** Returns the text of a module that imports `name` from `path`. */
const importing = (name: string, path: string) =>
  `import { ${name} } from '${path}';\nexport const planted = ${name};\n`;
const exporting = (name: string) => `export const ${name} = 1;\n`;

it('names every import that the table forbids, with its rule', () => {
  const { code, named } = cruise({
    'src/gateway/handler.ts': importing('transport', '../upstream/transport.ts'),
    'src/upstream/transport.ts': exporting('transport'),
    'src/catalog/peek.ts': "import type { Rule } from '../govern/rule.ts';\nexport type Peek = Rule;\n",
    'src/govern/rule.ts': 'export interface Rule {}\n',
    'src/core/parse.ts': "import { z } from 'zod';\nexport const parse = z.string();\n",
    'src/core/read.ts': importing('readFileSync', 'node:fs'),
    'src/config/start.ts': importing('spawn', 'node:child_process'),
    'src/store/dial.ts': importing('connect', 'node:net'),
    'src/helpers/pad.ts': importing('planted', '../gateway/handler.ts'),
    'src/wire/egg.ts': "import { hen } from './hen.ts';\nexport const egg = () => hen;\n",
    'src/wire/hen.ts': "import { egg } from './egg.ts';\nexport const hen = () => egg;\n",
  });

  expect(code).not.toBe(0);
  for (const violation of [
    'gateway-imports: src/gateway/handler.ts → src/upstream/transport.ts',
    'catalog-imports: src/catalog/peek.ts → src/govern/rule.ts',
    'core-is-pure: src/core/parse.ts → zod',
    'core-is-pure: src/core/read.ts → fs',
    'only-process-starts-children: src/config/start.ts → child_process',
    'only-guarded-sockets: src/store/dial.ts → net',
    'unknown-folder: src/helpers/pad.ts → src/gateway/handler.ts',
    'no-cycles: src/wire/egg.ts →',
  ]) {
    expect(named).toContain(violation);
  }
});

it('names every import that the tables inside gateway, upstream and config forbid', () => {
  const { code, named } = cruise({
    'src/gateway/methods/run.ts': importing('session', '../http/session.ts'),
    'src/gateway/http/session.ts': exporting('session'),
    'src/gateway/auth/admit.ts': importing('server', '../http-server.ts'),
    'src/gateway/http-server.ts': exporting('server'),
    'src/upstream/protocol/negotiate.ts': importing('headers', '../transports/headers.ts'),
    'src/upstream/transports/headers.ts': exporting('headers'),
    'src/upstream/transports/connect.ts': importing('health', '../lifecycle/health.ts'),
    'src/upstream/lifecycle/health.ts': exporting('health'),
    'src/upstream/connection.ts': importing('era', './protocol/era.ts'),
    'src/upstream/protocol/era.ts': exporting('era'),
    'src/config/schema/issue.ts': importing('document', '../read/document.ts'),
    'src/config/read/document.ts': exporting('document'),
    'src/config/sources/trust.ts': importing('edit', '../edit/edit.ts'),
    'src/config/edit/edit.ts': exporting('edit'),
    'src/config/extra/new.ts': importing('edit', '../edit/edit.ts'),
  });

  expect(code).not.toBe(0);
  for (const violation of [
    'gateway-methods-imports: src/gateway/methods/run.ts → src/gateway/http/session.ts',
    'gateway-auth-imports: src/gateway/auth/admit.ts → src/gateway/http-server.ts',
    'upstream-protocol-imports: src/upstream/protocol/negotiate.ts → src/upstream/transports/headers.ts',
    'upstream-transports-imports: src/upstream/transports/connect.ts → src/upstream/lifecycle/health.ts',
    'upstream-connection-imports: src/upstream/connection.ts → src/upstream/protocol/era.ts',
    'config-schema-imports: src/config/schema/issue.ts → src/config/read/document.ts',
    'config-sources-imports: src/config/sources/trust.ts → src/config/edit/edit.ts',
    'unknown-subfolder: src/config/extra/new.ts → src/config/edit/edit.ts',
  ]) {
    expect(named).toContain(violation);
  }
});

it('passes imports that the table allows, and imports of tests', () => {
  const { code, named } = cruise({
    'src/core/call.ts': 'export const call = 1;\n',
    'src/upstream/transports/pipe.ts': "import { call } from '../../core/call.ts';\nexport const pipe = call;\n",
    'src/upstream/lifecycle/server.ts': importing('pipe', '../transports/pipe.ts'),
    'src/process/start.ts': importing('spawn', 'node:child_process'),
    'src/heddle.ts': "import type { call } from './core/call.ts';\nexport type Heddle = typeof call;\n",
    'src/gateway/handler.ts': "import type { Heddle } from '../heddle.ts';\nexport type Handler = Heddle;\n",
    'src/gateway/handler.test.ts': importing('pipe', '../upstream/transports/pipe.ts'),
    'src/open-heddle.ts': importing('planted', './upstream/lifecycle/server.ts'),
  });

  expect(named).toContain('no dependency violations found (9 modules');
  expect(code).toBe(0);
});
