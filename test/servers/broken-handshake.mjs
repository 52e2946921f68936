// A stdio server that never completes the handshake: `node broken-handshake.mjs garbage | exit | silent`.
const [mode] = process.argv.slice(2);
const waitForEnd = () => process.stdin.resume().on('end', () => process.exit(0));

if (mode === 'garbage') {
  process.stdout.write('Welcome to my server!\n{"half": \n\u0000\u0001\u0002\n');
  process.stdin.on('data', () => process.stdout.write('I do not speak your language.\n'));
  waitForEnd();
} else if (mode === 'exit') {
  process.stdin.once('data', () => {
    process.stderr.write('The database is on fire.\n');
    process.exit(3);
  });
} else {
  waitForEnd();
}
