// `npm run conformance`: the protocol's own test suite, with Heddle in both roles.
// `npm run conformance -- server` runs that role alone.
import { rmSync } from 'node:fs';
import { asClient } from './conformance-client.mjs';
import { asServer } from './conformance-server.mjs';
import { scratch } from './conformance-suite.mjs';
import { install } from './install.mjs';

const only = process.argv[2];

process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
await install();
if (only !== 'server') await asClient();
if (only !== 'client') await asServer();
