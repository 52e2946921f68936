import type { LiveCatalog } from '../catalog/live-catalog.ts';
import type { LiveMetrics } from '../catalog/routing/metrics.ts';
import type { Feed } from '../core/async/feed.ts';
import type { RunOrigin } from '../core/records/run.ts';
import type { Change } from '../core/records/server-status.ts';
import type { Clock } from '../core/time.ts';
import type { Watchdog } from '../process/watchdog.ts';
import type { Store } from '../store/store.ts';
import type { AuthParts } from '../upstream/auth/auth-parts.ts';
import type { ServerRequests } from '../upstream/elicitation/server-requests.ts';
import type { Notifications } from '../upstream/lifecycle/notifications.ts';
import type { Servers } from '../upstream/servers.ts';
import type { ActiveConfig } from './active-config.ts';
import type { BuiltIn } from './built-ins/built-in.ts';
import type { Environment, HeddleOptions } from './heddle-options.ts';
import type { RegisteredServers } from './registered-servers.ts';
import type { WorkflowBuiltIn } from './workflows/workflow-built-in.ts';

/** The open parts of a Heddle. */
export interface RunningParts {
  readonly active: () => ActiveConfig;
  readonly store: Store;
  readonly changes: Feed<Change>;
  readonly notified: Notifications;
  readonly catalog: LiveCatalog;
  readonly servers: Servers;
  readonly metrics: LiveMetrics;
  readonly registered: RegisteredServers;
  readonly serverRequests: ServerRequests;
  readonly clock: Clock;
  readonly wallClock: Clock;
  readonly watchdog: Watchdog;
  readonly auth: AuthParts;
  readonly env: Environment;
  readonly builtIns: readonly BuiltIn[];
  readonly workflowBuiltIn: WorkflowBuiltIn;
  /** Derives the active configuration again: a built-in server has appeared or is gone. */
  readonly readopt: () => void;
  /** A file path, `:memory:` or a URL. */
  readonly storeLocation: string;
  /** The configuration to which runs belong that begin here. */
  readonly origin: RunOrigin;
  readonly options: HeddleOptions;
}
