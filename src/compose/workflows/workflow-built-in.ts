import type { WorkflowSource } from '../../core/records/workflow.ts';
import { VERSION } from '../../core/version.ts';
import { connectFunction, type FunctionServer } from '../../upstream/transports/connect-function.ts';
import { type BuiltIn, builtInServer } from '../built-ins/built-in.ts';

const NAME = 'workflow';

/** The built-in server whose tools are the workflows. It exists only while there are workflows. */
export interface WorkflowBuiltIn extends BuiltIn {
  /** The workflows registered at run time, by name. */
  readonly registered: Map<string, WorkflowSource>;
  /** Sets the function that opens the workflows at the first connect, and the one that is called after each reload. */
  attach(open: () => Promise<FunctionServer>, onReload: () => void): void;
}

/** Opens the built-in server of workflows. Nothing is loaded before its first connect. */
export function openWorkflowBuiltIn(): WorkflowBuiltIn {
  const registered = new Map<string, WorkflowSource>();
  const attached = Promise.withResolvers<() => Promise<FunctionServer>>();
  let reloaded = () => {};
  return {
    name: NAME,
    registered,
    configOf({ workflows = [] }) {
      if (workflows.length === 0 && registered.size === 0) return undefined;
      // The revision does not depend on the workflows: their changes are list changes of a server that goes on.
      return builtInServer({ name: NAME, description: 'Workflows', revision: { version: VERSION } });
    },
    connect: connectFunction(async () => (await attached.promise)()),
    attach(open, onReload) {
      attached.resolve(open);
      reloaded = onReload;
    },
    update: () => reloaded(),
    close: async () => {},
  };
}
