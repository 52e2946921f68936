import type { JsonObject } from '../../core/call.ts';
import { HeddleError } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { Approval } from '../../core/records/approval.ts';

/**
 * Returns the content of the form that the approval of a workflow step has: from `--content`, else from the user at the
 * terminal. Returns undefined for an approval without a form. Throws USAGE_INVALID without a terminal.
 */
export async function formContent(
  { id, subject: { form } }: Approval,
  text: string | undefined,
  signal?: AbortSignal,
): Promise<JsonObject | undefined> {
  if (text !== undefined) return readContent(text);
  if (form === undefined) return undefined;
  const [{ canAsk }, { askForm }] = await Promise.all([
    import('../input/ask.ts'),
    import('../input/ask-elicitation.ts'),
  ]);
  if (canAsk()) return askForm(form, signal);
  throw new HeddleError('USAGE_INVALID', `The approval ${id} has a form to fill in.`, {
    fix: `Add --content JSON; \`heddle approvals show ${id} --json\` has its schema.`,
  });
}

function readContent(text: string): JsonObject {
  try {
    const value = parseJson(text);
    if (isObject(value)) return value;
  } catch {
    // The error below says what is expected.
  }
  throw new HeddleError('INPUT_INVALID', '--content is not a JSON object.', {
    fix: `Write one JSON object: --content '{"label":"nda"}'.`,
  });
}
