// Not by `import`: that reads every export, `WebSocket` among them, which loads Node's whole HTTP client: 12 MB.
export const { Agent, createServer, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
