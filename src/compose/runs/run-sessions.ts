import { hasAnyCapability } from '../../core/call/client-capabilities.ts';
import type { ClientCapabilities, InputRequest, InputResponses } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import type { RunFollower, RunInputRequest } from '../../core/records/workflow-api.ts';
import { realTimer, type Timer } from '../../core/time.ts';
import type { RunInput } from '../../workflow/run/run-parts.ts';

type InputRequests = Readonly<Record<string, InputRequest>>;

/** The callers that wait for runs in this process, and the input requests that they have not answered yet. */
export interface RunSessions {
  /** Notes that a caller with these capabilities waits for a run, and takes its input requests by polling. */
  attend(run: string, capabilities: ClientCapabilities | undefined): void;
  /** Notes that a function answers the input requests of a run. */
  follow(run: string, capabilities: ClientCapabilities, onInput: NonNullable<RunFollower['onInput']>): void;
  /** Returns how the input requests of a run are answered; undefined if no caller can. */
  inputOf(run: string): RunInput | undefined;
  /** Returns the open input requests of a run, each under a key of its own. */
  requests(run: string): InputRequests;
  /** Gives the responses to the steps that wait for them. Ignores keys that are not open. */
  respond(run: string, responses: InputResponses): void;
}

export interface RunSessionsOptions {
  /** Called when a run has a new input request. */
  readonly onChange: (run: string) => void;
  /** Resolves when a run has ended. Its session is forgotten then, or when Heddle closes. */
  readonly ended: (run: string) => Promise<unknown>;
  readonly timer?: Timer;
}

/** An input request of a step, whose keys are numbered over the whole run. */
interface OpenRequest {
  readonly keys: ReadonlyMap<string, string>;
  readonly inputRequests: InputRequests;
  readonly received: Map<string, InputResponses[string]>;
  readonly resolve: (responses: InputResponses) => void;
}

interface Session {
  readonly input: RunInput;
  readonly open: Set<OpenRequest>;
}

/** The errors of a run that was removed, and of a Heddle that closes. */
const OVER: readonly string[] = ['NAME_UNKNOWN', 'CALL_CANCELLED'];
const RETRY_MS = 1000;

/** Opens the sessions. */
export function runSessions({ onChange, ended, timer = realTimer }: RunSessionsOptions): RunSessions {
  const sessions = new Map<string, Session>();
  let keys = 0;

  function begin(run: string, session: Session): void {
    if (!sessions.has(run)) forgetAtEnd(run);
    sessions.set(run, session);
  }

  function forgetAtEnd(run: string): void {
    const forget = () => void sessions.delete(run);
    ended(run).then(forget, (cause) => {
      if (OVER.includes(HeddleError.from(cause).code)) forget();
      else timer(RETRY_MS, () => forgetAtEnd(run)); // The store may be restarting.
    });
  }

  async function responsesTo(run: string, open: Set<OpenRequest>, request: RunInputRequest, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<InputResponses>();
    const numbered = Object.keys(request.inputRequests).map((key) => [`${run.slice(0, 8)}-${++keys}`, key] as const);
    const { inputRequests } = request;
    const one: OpenRequest = { keys: new Map(numbered), inputRequests, received: new Map(), resolve };
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    open.add(one);
    onChange(run);
    try {
      return await promise;
    } finally {
      open.delete(one);
      signal.removeEventListener('abort', onAbort);
    }
  }

  return {
    attend(run, capabilities) {
      if (!capabilities || !hasAnyCapability(capabilities) || sessions.has(run)) return;
      const open = new Set<OpenRequest>();
      begin(run, {
        open,
        input: { capabilities, respond: (request, signal) => responsesTo(run, open, request, signal) },
      });
    },
    follow(run, capabilities, onInput) {
      begin(run, { open: new Set(), input: { capabilities, respond: onInput } });
    },
    inputOf: (run) => sessions.get(run)?.input,
    requests: (run) => Object.fromEntries([...(sessions.get(run)?.open ?? [])].flatMap(unanswered)),
    respond(run, responses) {
      for (const one of sessions.get(run)?.open ?? []) take(one, responses);
    },
  };
}

const unanswered = ({ keys, inputRequests, received }: OpenRequest) =>
  [...keys].flatMap(([numbered, key]) => {
    const request = received.has(key) ? undefined : inputRequests[key];
    return request ? [[numbered, request] as const] : [];
  });

/** Takes the responses of one request. The step goes on when it has all of them. */
function take({ keys, received, resolve }: OpenRequest, responses: InputResponses): void {
  for (const [numbered, key] of keys) {
    const response = Object.hasOwn(responses, numbered) ? responses[numbered] : undefined;
    if (response) received.set(key, response);
  }
  if (received.size === keys.size) resolve(Object.fromEntries(received));
}
