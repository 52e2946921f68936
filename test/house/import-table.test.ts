import { expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const RULES = ['.dependency-cruiser.cjs', 'tsconfig.json'];

function cruise(written: Readonly<Record<string, string>>) {
  const { code, stdout } = runCommand(['depcruise', 'src'], { cwd: temporaryTree({ copied: RULES, written }) });
  return { code, named: stdout };
}

it('names an import that the table does not allow, with its rule', () => {
  const { code, named } = cruise({
    'src/gateway/server.ts':
      "import { transport } from '../upstream/transport.ts';\nexport const server = transport;\n",
    'src/upstream/transport.ts': 'export const transport = 1;\n',
    'src/catalog/search.ts': "import type { Rule } from '../govern/rule.ts';\nexport type Search = Rule;\n",
    'src/govern/rule.ts': 'export interface Rule {}\n',
    'src/core/parse.ts': "import { z } from 'zod';\nexport const parse = z.string();\n",
    'src/core/read.ts': "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;\n",
    'src/config/run.ts': "import { spawn } from 'node:child_process';\nexport const run = spawn;\n",
    'src/store/dial.ts': "import { connect } from 'node:net';\nexport const dial = connect;\n",
    'src/helpers/pad.ts': "import { server } from '../gateway/server.ts';\nexport const pad = server;\n",
    'src/wire/egg.ts': "import { hen } from './hen.ts';\nexport const egg = () => hen;\n",
    'src/wire/hen.ts': "import { egg } from './egg.ts';\nexport const hen = () => egg;\n",
  });

  expect(code).not.toBe(0);
  for (const violation of [
    'gateway-imports: src/gateway/server.ts → src/upstream/transport.ts',
    'catalog-imports: src/catalog/search.ts → src/govern/rule.ts',
    'core-is-pure: src/core/parse.ts → zod',
    'core-is-pure: src/core/read.ts → fs',
    'only-process-starts-children: src/config/run.ts → child_process',
    'only-guarded-sockets: src/store/dial.ts → net',
    'unknown-folder: src/helpers/pad.ts → src/gateway/server.ts',
    'no-cycles: src/wire/egg.ts →',
  ]) {
    expect(named).toContain(violation);
  }
});

it('accepts imports of the table, and any import in tests', () => {
  const { code, named } = cruise({
    'src/core/call.ts': 'export const call = 1;\n',
    'src/upstream/transport.ts': "import { call } from '../core/call.ts';\nexport const transport = call;\n",
    'src/process/start.ts': "import { spawn } from 'node:child_process';\nexport const start = spawn;\n",
    'src/heddle.ts': "import type { call } from './core/call.ts';\nexport type Heddle = typeof call;\n",
    'src/gateway/server.ts': "import type { Heddle } from '../heddle.ts';\nexport type Server = Heddle;\n",
    'src/gateway/server.test.ts':
      "import { transport } from '../upstream/transport.ts';\nexport const tested = transport;\n",
    'src/open-heddle.ts': "import { transport } from './upstream/transport.ts';\nexport const open = transport;\n",
  });

  expect(named).toContain('no dependency violations found (8 modules');
  expect(code).toBe(0);
});
