// `npm start`: from a fresh clone to a running gateway, on any Node that npm itself runs on.
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, nodePath, ROOT } from './install.mjs';

await install();
const { code } = await runChild(nodePath(), [join(ROOT, 'bin', 'heddle'), 'up', ...process.argv.slice(2)], {
  // The channel carries nothing: it ends when this process does, and the gateway then ends too.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
process.exit(code);
