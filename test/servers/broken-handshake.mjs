// Servers that cannot be connected to: `node broken-handshake.mjs garbage | exit | silent`.
const [how] = process.argv.slice(2);
const stay = () => process.stdin.resume().on('end', () => process.exit(0));

if (how === 'garbage') {
  process.stdout.write('Welcome to my server!\n{"half": \n\u0000\u0001\u0002\n');
  process.stdin.on('data', () => process.stdout.write('I do not speak your language.\n'));
  stay();
} else if (how === 'exit') {
  process.stdin.once('data', () => {
    process.stderr.write('The database is on fire.\n');
    process.exit(3);
  });
} else {
  stay();
}
