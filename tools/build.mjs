// `npm run build`: src/ → dist/, as published.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, nodePath, ROOT } from './install.mjs';

await install();
rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const { code } = await runChild(nodePath(), [compiler, '-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
process.exit(code);
