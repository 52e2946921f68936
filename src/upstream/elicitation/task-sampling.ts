import { hash } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { InputRequests } from '../../core/call/run-to-completion.ts';
import type { InputRequest, InputResponses, ResolvedCall, TaskContinuation } from '../../core/call.ts';
import type { ServerRequests } from './server-requests.ts';

/** The input requests of one poll that the client has not answered yet. */
interface OpenOfPoll {
  readonly open: InputRequests;
  /** Admits an input request; counts a sampling request only when an earlier poll did not show it. */
  readonly admit: ServerRequests['admit'];
}

/** The sampling requests of tasks. Each counts once, however many polls show it, and is answered once. */
export interface TaskSampling {
  /** Takes the input requests of one poll. Forgets earlier ones that it does not show: they count again later. */
  polled(call: ResolvedCall, task: TaskContinuation, inputRequests: InputRequests): OpenOfPoll;
  answered(call: ResolvedCall, task: TaskContinuation, inputResponses: InputResponses): void;
  forget(call: ResolvedCall, task: TaskContinuation): void;
}

interface Counted {
  /** Hash of the input request. */
  readonly digest: string;
  answered: boolean;
}

const MAX_TASKS = 1000;

export function taskSampling(admit: ServerRequests['admit']): TaskSampling {
  // Only hashes are kept: the server decides how long keys and input requests are.
  const tasks = new BoundedMap<string, Map<string, Counted>>(MAX_TASKS);

  function keep(id: string, counted: Map<string, Counted>): void {
    if (counted.size > 0) tasks.set(id, counted);
    else tasks.delete(id);
  }

  return {
    polled(call, task, inputRequests) {
      const id = idOf(call, task);
      const before = tasks.get(id);
      const sampling = Object.entries(inputRequests).filter(([, { method }]) => method === 'sampling/createMessage');
      const keys = new Map(sampling.map(([key, inputRequest]) => [inputRequest, digestOf(key)]));
      const counted = new Map<string, Counted>();
      for (const [inputRequest, key] of keys) {
        const known = before?.get(key);
        if (known?.digest === digestOf(inputRequest)) counted.set(key, known);
      }
      keep(id, counted);
      const isAnswered = (inputRequest: InputRequest) => counted.get(keys.get(inputRequest) ?? '')?.answered === true;
      return {
        open: Object.fromEntries(Object.entries(inputRequests).filter(([, inputRequest]) => !isAnswered(inputRequest))),
        admit(server, inputRequest, user) {
          const key = keys.get(inputRequest);
          if (key === undefined) return admit(server, inputRequest, user);
          const isCounted = counted.has(key);
          const admitted = admit(server, inputRequest, { ...user, isCounted });
          if (!isCounted) keep(id, counted.set(key, { digest: digestOf(inputRequest), answered: false }));
          return admitted;
        },
      };
    },
    answered(call, task, inputResponses) {
      const counted = tasks.get(idOf(call, task));
      for (const key of counted ? Object.keys(inputResponses) : []) {
        const known = counted?.get(digestOf(key));
        if (known) known.answered = true;
      }
    },
    forget: (call, task) => void tasks.delete(idOf(call, task)),
  };
}

const idOf = ({ caller }: ResolvedCall, { taskId }: TaskContinuation) => digestOf([caller.id, taskId]);
const digestOf = (value: unknown) => hash('sha256', JSON.stringify(value));
