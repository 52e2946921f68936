import type { Caller, InputResponses, JsonObject } from '../core/call.ts';
import type { Run, RunOptions, RunQuery, RunResolution } from '../core/records/run.ts';
import type { RunFollower, WorkflowChoice } from '../core/records/workflow-api.ts';
import type { Heddle } from '../heddle.ts';
import type { CommandPrompts, OpenResponse } from './command-prompts.ts';
import type { RunRoute } from './command-wire.ts';

/** A request of a command about workflows and runs. */
export interface RunRequest extends OpenResponse {
  readonly body: JsonObject;
  readonly by: Caller;
  readonly heddle: Heddle;
  readonly prompts: CommandPrompts;
}

/** The choice of a body, which `command-fields` has checked. */
const choiceIn = ({ workflow }: JsonObject): WorkflowChoice => workflow as unknown as WorkflowChoice;
const idIn = ({ run }: JsonObject): string => String(run);

/** The routes by which a command uses the workflows and runs of a gateway. */
export const RUN_ROUTES: Readonly<Record<RunRoute, (request: RunRequest) => Promise<unknown>>> = {
  workflows: ({ by, heddle }) => heddle.workflows.list(by),
  workflow: ({ body, by, heddle }) => heddle.workflows.get(by, choiceIn(body)),
  lint: ({ body, by, heddle, signal }) => heddle.workflows.lint(by, choiceIn(body), signal),
  plan: ({ body, by, heddle, signal }) => heddle.workflows.plan(by, choiceIn(body), body.input as JsonObject, signal),
  chart: ({ body, by, heddle }) => heddle.workflows.toMermaid(by, choiceIn(body)),
  start: startRun,
  async respond({ body, prompts }) {
    prompts.respond(String(body.key), body.response as JsonObject);
    return null;
  },
  runs: ({ body, by, heddle }) => heddle.runs.list(by, body as RunQuery),
  run: ({ body, by, heddle }) => heddle.runs.get(by, idIn(body)),
  events: ({ body, by, heddle }) => heddle.runs.events(by, idIn(body), body.after as number | undefined),
  ended: ({ body, by, heddle, signal }) => heddle.runs.settled(by, idIn(body), signal),
  cancel: ({ body, by, heddle }) => heddle.runs.cancel(by, idIn(body), body.reason as string | undefined),
  resume: ({ body, by, heddle }) => heddle.runs.resume(by, idIn(body)),
  retry: ({ body, by, heddle }) => heddle.runs.retry(by, idIn(body), String(body.from)),
  resolve: ({ body, by, heddle }) => {
    const { run: _, ...resolution } = body;
    return heddle.runs.resolve(by, idIn(body), resolution as unknown as RunResolution);
  },
};

/**
 * Starts a run and sends it in a line. The response of a command that can be asked stays open until the run has ended or the
 * command leaves. The run goes on in both cases.
 */
async function startRun({ body, by, heddle, prompts, write, signal }: RunRequest): Promise<Run> {
  const { workflow: _, input, asks, ...options } = body;
  const response = { write, signal };
  const follower: RunFollower = asks
    ? {
        onApproval: (approval, waits) => prompts.send({ approval }, response, waits),
        onInput: async (inputRequest, waits) =>
          (await prompts.send({ inputRequest }, response, waits)) as unknown as InputResponses,
      }
    : {};
  const wanted = { ...(options as RunOptions), ...follower, signal };
  const run = await heddle.runs.start(by, choiceIn(body), input as JsonObject, wanted);
  write({ run });
  if (asks) await heddle.runs.settled(by, run.id, signal).catch(() => {}); // The command has left.
  return run;
}
