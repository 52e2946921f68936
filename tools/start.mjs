// `npm start`: installs what running needs and starts the gateway, on any Node that npm runs on.
import { join } from 'node:path';
import { runChild } from './child.mjs';
import { install, nodePath, ROOT } from './install.mjs';

await install({ dev: false });
const { code } = await runChild(nodePath(), [join(ROOT, 'bin', 'heddle'), 'up', ...process.argv.slice(2)], {
  // The IPC channel carries no messages. It closes when this process ends, and the gateway then ends too.
  stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
});
process.exit(code);
