import { hash } from 'node:crypto';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { InputRequest, InputResponses, ResolvedCall, TaskContinuation } from '../../core/call.ts';
import type { InputRequiredContext } from './input-requests.ts';
import type { ServerRequests } from './server-requests.ts';

/** What one look at a task showed, without what the user's model has written for it already. */
interface Shown {
  readonly open: InputRequiredContext;
  readonly admit: ServerRequests['admit'];
}

/** What tasks want the user's model to write: it is counted once however often it is looked at, and answered once. */
export interface TaskSampling {
  /** Of one look; what an earlier one showed and this one does not is forgotten, and counts anew when it comes back. */
  shown(call: ResolvedCall, task: TaskContinuation, asked: InputRequiredContext): Shown;
  answered(call: ResolvedCall, task: TaskContinuation, answers: InputResponses): void;
  forget(call: ResolvedCall, task: TaskContinuation): void;
}

interface Put {
  readonly question: string;
  answered: boolean;
}

const MAX_TASKS = 1000;

export function taskSampling(admit: ServerRequests['admit']): TaskSampling {
  // By hashes alone: how long keys and questions are is for the server to say.
  const tasks = new BoundedMap<string, Map<string, Put>>(MAX_TASKS);

  function keep(id: string, puts: Map<string, Put>): void {
    if (puts.size > 0) tasks.set(id, puts);
    else tasks.delete(id);
  }

  return {
    shown(call, task, asked) {
      const id = idOf(call, task);
      const before = tasks.get(id);
      const wanted = Object.entries(asked).filter(([, { method }]) => method === 'sampling/createMessage');
      const names = new Map(wanted.map(([key, question]) => [question, digest(key)]));
      const puts = new Map<string, Put>();
      for (const [question, name] of names) {
        const put = before?.get(name);
        if (put?.question === digest(question)) puts.set(name, put);
      }
      keep(id, puts);
      const isAnswered = (question: InputRequest) => puts.get(names.get(question) ?? '')?.answered === true;
      return {
        open: Object.fromEntries(Object.entries(asked).filter(([, question]) => !isAnswered(question))),
        admit(server, question, user) {
          const name = names.get(question);
          if (name === undefined) return admit(server, question, user);
          const isCounted = puts.has(name);
          const admitted = admit(server, question, { ...user, isCounted });
          if (!isCounted) keep(id, puts.set(name, { question: digest(question), answered: false }));
          return admitted;
        },
      };
    },
    answered(call, task, answers) {
      const puts = tasks.get(idOf(call, task));
      for (const key of puts ? Object.keys(answers) : []) {
        const put = puts?.get(digest(key));
        if (put) put.answered = true;
      }
    },
    forget: (call, task) => void tasks.delete(idOf(call, task)),
  };
}

const idOf = ({ caller }: ResolvedCall, { taskId }: TaskContinuation) => digest([caller.id, taskId]);
const digest = (value: unknown) => hash('sha256', JSON.stringify(value));
