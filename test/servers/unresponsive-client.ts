// `node unresponsive-client.ts <client> <port> <token> <tools…>` calls tools and answers no input request.
// It waits until it is killed.
import { type ClientName, DATED_CLIENTS } from './dated-clients.ts';

const [name, port, token, ...tools] = process.argv.slice(2) as [ClientName, string, string, ...string[]];
const client = await DATED_CLIENTS[name]({ port: Number(port), token }, () => new Promise(() => {}));
await Promise.all(tools.map((tool) => client.call(tool)));
