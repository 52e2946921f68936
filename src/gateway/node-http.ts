// `import` would read every export. The export `WebSocket` loads Node's HTTP client, which takes 12 MB.
export const { Agent, createServer, request, ServerResponse, STATUS_CODES } = process.getBuiltinModule('node:http');
