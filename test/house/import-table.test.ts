import { expect, it } from 'vitest';
import { runCommand } from './run-command.ts';
import { temporaryTree } from './temporary-tree.ts';

const RULES = ['.dependency-cruiser.cjs', 'tsconfig.json'];

function cruise(written: Readonly<Record<string, string>>) {
  const { code, stdout } = runCommand(['depcruise', 'src'], { cwd: temporaryTree({ copied: RULES, written }) });
  return { code, named: stdout };
}

it('an import the table does not allow is named, with its rule', () => {
  const { code, named } = cruise({
    'src/gateway/face.ts': "import { line } from '../upstream/line.ts';\nexport const face = line;\n",
    'src/upstream/line.ts': 'export const line = 1;\n',
    'src/catalog/peek.ts': "import type { Rule } from '../govern/rule.ts';\nexport type Peek = Rule;\n",
    'src/govern/rule.ts': 'export interface Rule {}\n',
    'src/core/parse.ts': "import { z } from 'zod';\nexport const parse = z.string();\n",
    'src/core/read.ts': "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;\n",
    'src/config/ask.ts': "import { spawn } from 'node:child_process';\nexport const ask = spawn;\n",
    'src/store/dial.ts': "import { connect } from 'node:net';\nexport const dial = connect;\n",
    'src/helpers/pad.ts': "import { face } from '../gateway/face.ts';\nexport const pad = face;\n",
    'src/wire/egg.ts': "import { hen } from './hen.ts';\nexport const egg = () => hen;\n",
    'src/wire/hen.ts': "import { egg } from './egg.ts';\nexport const hen = () => egg;\n",
  });

  expect(code).not.toBe(0);
  for (const violation of [
    'gateway-imports: src/gateway/face.ts → src/upstream/line.ts',
    'catalog-imports: src/catalog/peek.ts → src/govern/rule.ts',
    'core-is-pure: src/core/parse.ts → zod',
    'core-is-pure: src/core/read.ts → fs',
    'only-process-starts-children: src/config/ask.ts → child_process',
    'only-guarded-sockets: src/store/dial.ts → net',
    'unknown-folder: src/helpers/pad.ts → src/gateway/face.ts',
    'no-cycles: src/wire/egg.ts →',
  ]) {
    expect(named).toContain(violation);
  }
});

it('imports the table allows pass, and tests may import what they test with', () => {
  const { code, named } = cruise({
    'src/core/call.ts': 'export const call = 1;\n',
    'src/upstream/line.ts': "import { call } from '../core/call.ts';\nexport const line = call;\n",
    'src/process/start.ts': "import { spawn } from 'node:child_process';\nexport const start = spawn;\n",
    'src/heddle.ts': "import type { call } from './core/call.ts';\nexport type Heddle = typeof call;\n",
    'src/gateway/face.ts': "import type { Heddle } from '../heddle.ts';\nexport type Face = Heddle;\n",
    'src/gateway/face.test.ts': "import { line } from '../upstream/line.ts';\nexport const tested = line;\n",
    'src/open-heddle.ts': "import { line } from './upstream/line.ts';\nexport const open = line;\n",
  });

  expect(named).toContain('no dependency violations found (8 modules');
  expect(code).toBe(0);
});
