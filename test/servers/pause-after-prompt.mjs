// A preload for Node: freezes the process for half a second after the prompt `Value of …` is written.
const { write } = process.stderr;
process.stderr.write = (text, ...rest) => {
  const written = write.call(process.stderr, text, ...rest);
  if (String(text).startsWith('Value of')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  return written;
};
