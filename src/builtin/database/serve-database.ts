import type { Transport } from '../../wire/transport.ts';
import { serveTools } from '../serve-tools.ts';
import { describeTableTool } from './describe-table.ts';
import { executeTool, writableOf } from './execute.ts';
import { explainTool } from './explain.ts';
import { listTablesTool } from './list-tables.ts';
import { queryTool } from './query.ts';
import type { ToolOptions } from './run-on.ts';

// The version of these tools, not of Heddle.
const VERSION = '1.0.0';

export interface DatabaseServerOptions extends ToolOptions {
  /** True leaves out the tool that writes, whatever the access of the connections. */
  readonly readOnly?: boolean;
  readonly trouble?: (error: Error) => void;
}

/** Serves the database tools on one transport. Opens no database. */
export async function serveDatabase(transport: Transport, options: DatabaseServerOptions): Promise<void> {
  const { connections, readOnly = false, trouble } = options;
  const names = connections.list().map(({ name, type }) => `${name} (${type})`);
  await serveTools(transport, {
    name: 'database',
    version: VERSION,
    instructions: `Databases: ${names.join(', ')}. Values belong in params, not in sql.`,
    tools: [
      queryTool(options),
      listTablesTool(options),
      describeTableTool(options),
      explainTool(options),
      ...(readOnly || writableOf(connections).length === 0 ? [] : [executeTool(options)]),
    ],
    ...(trouble && { trouble }),
  });
}
