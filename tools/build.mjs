// `npm run build`: src/ → dist/. Compiles what has changed; with --clean, as before packing, everything.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, nodePath, ROOT } from './install.mjs';

await install();
if (process.argv.includes('--clean')) rmSync(join(ROOT, 'dist'), { recursive: true, force: true });
const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const { code } = await runChild(nodePath(), [compiler, '-p', 'tsconfig.build.json'], { cwd: ROOT, stdio: 'inherit' });
process.exit(code);
