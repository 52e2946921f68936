/**
 * Runs in the sandbox before the code. Makes time and randomness repeatable, and `tools` from one host function. It keeps
 * the built-ins that it needs, so that changes of the code to them have no effect on it.
 */
export const PRELUDE = `(function (host, unknown, config) {
  'use strict';
  const { parse, stringify } = JSON;
  const { create, defineProperty, freeze } = Object;
  const { seed, now, names, input } = parse(config);

  let state = seed >>> 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  const RealDate = Date;
  function FixedDate(...parts) {
    if (!new.target) return new RealDate(now).toString();
    return Reflect.construct(RealDate, parts.length === 0 ? [now] : parts, new.target);
  }
  FixedDate.prototype = RealDate.prototype;
  FixedDate.now = () => now;
  FixedDate.parse = RealDate.parse;
  FixedDate.UTC = RealDate.UTC;
  defineProperty(RealDate.prototype, 'constructor', { value: FixedDate, writable: true, configurable: true });
  globalThis.Date = FixedDate;

  const callTool = (name) => async (args) => {
    const text = stringify(args === undefined ? {} : args);
    if (typeof text !== 'string' || text[0] !== '{') throw new TypeError(name + ' takes one object');
    const reply = parse(await host(name, text));
    if (reply.error === undefined) return reply.value;
    const error = new Error(reply.error.message);
    error.code = reply.error.code;
    throw error;
  };
  const tools = create(null);
  for (const [server, tool, name] of names) {
    if (tool === '') tools[server] = callTool(name);
    else (tools[server] ??= create(null))[tool] = callTool(name);
  }
  // A promise and JSON look for these on every value.
  const isProbe = (key) => typeof key === 'symbol' || key === 'then' || key === 'toJSON';
  const namingUnknown = (of, prefix) =>
    new Proxy(freeze(of), {
      get(target, key) {
        if (key in target || isProbe(key)) return target[key];
        throw new TypeError(unknown(prefix + key));
      },
    });
  for (const server in tools) tools[server] = namingUnknown(tools[server], server + '.');

  return async function start(body) {
    const value = await body(input, namingUnknown(tools, ''));
    const text = stringify(value === undefined ? null : value);
    if (typeof text !== 'string') throw new TypeError('the result is not JSON');
    return text;
  };
})`;
