/** The side that has to act. Front ends map faults to their protocol. */
export type Fault = 'caller' | 'denied' | 'upstream' | 'internal';

interface Row {
  readonly fault: Fault;
  /** The exit code of `heddle`. Scripts rely on these numbers. */
  readonly exit: number;
  /** The case in which it is raised, for docs/errors.md. */
  readonly when: string;
  /** The default advice, for errors without a `fix` of their own. */
  readonly fix: string;
}

/** Every way Heddle can fail. Adding a row is an API change: update test/pins/errors.test.ts and docs/errors.md. */
export const ERRORS = {
  USAGE_INVALID: {
    fault: 'caller',
    exit: 2,
    when: 'The command line, or the options of a library function, could not be understood.',
    fix: 'Run the command with `--help` to see its arguments and an example.',
  },
  NAME_UNKNOWN: {
    fault: 'caller',
    exit: 2,
    when: 'No tool, prompt, resource or server of that name exists, or the caller may not see it.',
    fix: 'Run `heddle list tools` to see what there is.',
  },
  NAME_AMBIGUOUS: {
    fault: 'caller',
    exit: 2,
    when: 'A bare tool name, or a URI, belongs to more than one server.',
    fix: 'Write it as `server.tool`; the message lists the candidates.',
  },
  NAME_TAKEN: {
    fault: 'caller',
    exit: 2,
    when: 'A server is to be registered, or a key made, under a name that another one has.',
    fix: 'Choose another name, or take the other one away first.',
  },
  INPUT_INVALID: {
    fault: 'caller',
    exit: 2,
    when: 'The arguments do not match the schema of the tool or prompt, or are not JSON.',
    fix: 'Run `heddle describe <tool>` to see its arguments.',
  },
  CONFIG_INVALID: {
    fault: 'caller',
    exit: 3,
    when: 'A configuration file, or one entry of it, cannot be used.',
    fix: 'Correct the file at the line and column the message names; `heddle config explain` shows what is in force.',
  },
  VARIABLE_UNSET: {
    fault: 'caller',
    exit: 3,
    when: 'A `${VARIABLE}` in the configuration has no value and no default.',
    fix: 'Set the variable, or write `${NAME:-default}`.',
  },
  TRANSPORT_UNSUPPORTED: {
    fault: 'caller',
    exit: 3,
    when: 'The configuration asks for a transport or a field that this version cannot honour.',
    fix: 'Use `command` (stdio) or `type: "http"`.',
  },
  SANDBOX_UNAVAILABLE: {
    fault: 'caller',
    exit: 3,
    when: 'A server asks for a sandbox that cannot be enforced here, so it is not started.',
    fix: 'Remove `sandbox` from the server, or set `sandbox.required` to false to run it unsandboxed.',
  },
  DRIVER_MISSING: {
    fault: 'caller',
    exit: 3,
    when: 'The store needs a database driver that is not installed.',
    fix: 'Install it beside heddle: `npm install pg`.',
  },
  WORKFLOW_INVALID: {
    fault: 'caller',
    exit: 3,
    when: 'A workflow cannot be read, or breaks a rule or a limit.',
    fix: 'Correct it at the line and column that the message names; `heddle lint <file>` lists all problems.',
  },
  RUN_FAILED: {
    fault: 'upstream',
    exit: 1,
    when: 'A run of a workflow has failed at a step.',
    fix: 'Run `heddle runs show <id>` to see the step and its error, then `heddle runs retry <id> --from <step>`.',
  },
  RUN_IN_DOUBT: {
    fault: 'upstream',
    exit: 9,
    when: 'A call of a run may have happened or not, and a person has to tell.',
    fix: 'Run `heddle runs show <id>` to see the call, then `heddle runs resolve <id>`.',
  },
  RUN_OWNED: {
    fault: 'caller',
    exit: 2,
    when: 'Another process executes the run.',
    fix: 'Wait for it, or run `heddle runs cancel <id>`.',
  },
  RUN_LEASE_LOST: {
    fault: 'internal',
    exit: 70,
    when: 'Another process has taken over the run, so this one writes and sends nothing more for it.',
    fix: 'Nothing: the run goes on in the other process.',
  },
  RUN_TOO_NEW: {
    fault: 'caller',
    exit: 2,
    when: 'The run was started by a newer version of Heddle.',
    fix: 'Continue it with that version.',
  },
  EXPRESSION_FAILED: {
    fault: 'caller',
    exit: 2,
    when: 'An expression or reference of a workflow has no value, or exceeds its limits.',
    fix: 'Correct the expression that the message names.',
  },
  CODE_FAILED: {
    fault: 'caller',
    exit: 1,
    when: 'The code of a step threw an error.',
    fix: 'Correct the code; the message has the error and its line.',
  },
  CODE_LIMIT_EXCEEDED: {
    fault: 'caller',
    exit: 1,
    when: 'The code of a step used more time, memory or calls than its limits permit.',
    fix: 'Do less in one step, or raise its `limits`.',
  },
  SERVER_UNTRUSTED: {
    fault: 'caller',
    exit: 3,
    when: 'The server comes from the project’s folder, and the user has not trusted it, or it has changed since.',
    fix: 'Look at its entry, then run `heddle trust` once, or pass --trust-project.',
  },
  SERVER_DISABLED: {
    fault: 'caller',
    exit: 3,
    when: 'The server is configured with `enabled: false`.',
    fix: 'Set `enabled` to true in its configuration.',
  },
  AUTH_NEEDED: {
    fault: 'upstream',
    exit: 4,
    when: 'The server answered 401: it requires a credential that Heddle does not have.',
    fix: 'Run `heddle auth login <server>`, or give the server an `Authorization` header in its `headers`.',
  },
  AUTH_REFUSED: {
    fault: 'upstream',
    exit: 4,
    when: 'A sign-in failed: the authorization server refused it, or its answer cannot be trusted.',
    fix: 'Read the reason, then run `heddle auth login <server>` again; `heddle auth status` shows all sign-ins.',
  },
  PERMISSION_DENIED: {
    fault: 'denied',
    exit: 5,
    when: 'A permission rule forbids the call, or the user rejected it.',
    fix: 'Change the rule that the message names, or ask the operator who maintains it.',
  },
  SERVER_BLOCKED: {
    fault: 'denied',
    exit: 5,
    when: 'The organisation’s managed settings do not allow the server.',
    fix: 'Ask the administrator of this machine to allow it; `heddle config explain <server>` shows the line that decides.',
  },
  RATE_LIMITED: {
    fault: 'denied',
    exit: 5,
    when: 'The tool, its server or the caller has used up its `maxCalls` in the current window.',
    fix: 'Wait as long as the message says, and call again.',
  },
  AUDIT_UNAVAILABLE: {
    fault: 'denied',
    exit: 5,
    when: 'The audit log cannot be written, so nothing with side effects runs.',
    fix: 'Free disk space or restore the store; reads go on meanwhile.',
  },
  BUDGET_EXCEEDED: {
    fault: 'denied',
    exit: 5,
    when: 'The budget of the caller for this hour, day or month does not cover the cost of the call.',
    fix: 'Wait until the budget is reset, or raise it in `budgets`; `heddle stats --budgets` shows all.',
  },
  APPROVAL_REQUIRED: {
    fault: 'denied',
    exit: 5,
    when: 'The call needs an approval, and none can be requested: no identity may decide, approvals are turned off or a limit is reached.',
    fix: 'Allow the tool with `heddle permissions allow <tool>`, or change `approvals` in heddle.json.',
  },
  APPROVAL_PENDING: {
    fault: 'denied',
    exit: 6,
    when: 'The call, or the run that it began, waits for an approver.',
    fix: 'Repeat the same call after the decision: `heddle approvals show <id>` shows it.',
  },
  APPROVAL_REJECTED: {
    fault: 'denied',
    exit: 5,
    when: 'An approver rejected the call.',
    fix: 'Read the note of the approver, and change the call.',
  },
  APPROVAL_TIMED_OUT: {
    fault: 'denied',
    exit: 5,
    when: 'No approver decided about the call in time, or the approved call was not made within 15 minutes.',
    fix: 'Call again to request another approval.',
  },
  APPROVAL_SETTLED: {
    fault: 'caller',
    exit: 2,
    when: 'The approval has been decided or is over, so it cannot be decided again.',
    fix: 'Run `heddle approvals show <id>` to see who decided.',
  },
  UPSTREAM_TIMEOUT: {
    fault: 'upstream',
    exit: 7,
    when: 'A server did not answer in time, and repeating the call is harmless.',
    fix: 'Call again, or raise `timeoutMs` of the server or the tool.',
  },
  UPSTREAM_UNREACHABLE: {
    fault: 'upstream',
    exit: 8,
    when: 'A server could not be started or reached. No request was sent.',
    fix: 'Run `heddle doctor <server>` to see why.',
  },
  UPSTREAM_FAILED: {
    fault: 'upstream',
    exit: 8,
    when: 'A server broke while it handled the call, and repeating the call is harmless.',
    fix: 'Run `heddle doctor <server>` to see its last stderr output.',
  },
  UPSTREAM_REFUSED: {
    fault: 'upstream',
    exit: 1,
    when: 'The server answered with a protocol error of its own.',
    fix: 'The message is the server’s; correct what it names.',
  },
  TOOL_INVALID: {
    fault: 'upstream',
    exit: 8,
    when: 'The input schema of the tool is broken or breaks the limits, so its arguments cannot be checked; or its result does not match the output schema, and `outputCheck` is `refuse`.',
    fix: 'Tell the maintainer of the server; its other tools work.',
  },
  OUTCOME_UNKNOWN: {
    fault: 'upstream',
    exit: 9,
    when: 'The call reached the server and no response came back. It may have had effects. Heddle does not repeat it.',
    fix: 'Check the system that the tool acts on before you call again.',
  },
  CALL_CANCELLED: {
    fault: 'caller',
    exit: 130,
    when: 'The caller cancelled the call or went away.',
    fix: 'Check the effects of the tool: a call that was sent may have taken effect.',
  },
  STORE_UNAVAILABLE: {
    fault: 'internal',
    exit: 70,
    when: 'The store could not be opened.',
    fix: 'Check that the folder in `HEDDLE_HOME` is writable, or that the database of `store` answers.',
  },
  INTERNAL: {
    fault: 'internal',
    exit: 70,
    when: 'A bug in Heddle.',
    fix: 'Report it, with the output of `heddle doctor`.',
  },
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;
