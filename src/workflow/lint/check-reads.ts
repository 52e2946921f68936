import { closest } from '../../core/text/did-you-mean.ts';
import { quoteName } from '../../core/text/visible-text.ts';
import type { MappingRead } from '../expressions/evaluate-mapping.ts';
import type { LintName } from './lint-scope.ts';
import { type SchemaContext, schemaOfName, schemaOfPath } from './result-schema.ts';
import type { LintPlace } from './walk-scopes.ts';

/** A finding without its place. */
export interface LintFinding {
  readonly level: 'error' | 'warning';
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

interface ReadContext extends SchemaContext {
  /** The ids of all steps of the workflow. */
  readonly ids: ReadonlySet<string>;
}

/**
 * Finds the problems of one reference: it has no value, or may have none. In the classic form that is an error only in an
 * expression.
 */
export function checkRead(place: LintPlace, read: MappingRead, context: ReadContext): readonly LintFinding[] {
  const found = findingsOf(place, read, context);
  return context.form === 'rich' || read.isInCel ? found : found.map((finding) => ({ ...finding, level: 'warning' }));
}

function findingsOf(place: LintPlace, read: MappingRead, context: ReadContext): readonly LintFinding[] {
  const known = place.scope.find(read.name);
  if (!known) return [unknownName(place, read, context)];
  return [...skippable(place, read, { known, form: context.form }), ...unknownField(read, known, context)];
}

function unknownName({ step, path, scope }: LintPlace, { name, text }: MappingRead, { ids }: ReadContext): LintFinding {
  const shown = `\`${text}\``;
  if (path.split('/').includes(name) || step?.id === name) {
    const message = `${shown} refers to the step \`${name}\` from inside of it, and it has no result yet.`;
    return { level: 'error', code: 'REFERENCE_CYCLIC', message, fix: 'Refer to a step before it.' };
  }
  if (ids.has(name)) {
    const message = `${shown} refers to the step \`${name}\`, which runs later or is not seen here.`;
    const fix = 'Move that step before this one, or use the result of the step around it.';
    return { level: 'error', code: 'REFERENCE_FORWARD', message, fix };
  }
  const meant = closest(name, scope.names());
  const fix = meant === undefined ? 'Use the id of a step before this one.' : `Did you mean \`$${quoteName(meant)}\`?`;
  return { level: 'error', code: 'STEP_UNKNOWN', message: `${shown} refers to no step or value.`, fix };
}

/** Warns of a reference to the result of a step that may have been skipped. */
function skippable(
  { tested }: LintPlace,
  { name, parts, text, isOptional }: MappingRead,
  { known, form }: { readonly known: LintName } & Pick<SchemaContext, 'form'>,
): readonly LintFinding[] {
  const isResult = form === 'classic' || parts.length === 0 || parts[0] === 'result';
  if (!('step' in known) || !known.mayBeSkipped || isOptional || !isResult || tested.has(name)) return [];
  const message = `\`${text}\` has no value if the step \`${name}\` is skipped.`;
  const test = form === 'rich' ? `Add \`if: $${name}.status == 'ok'\`` : 'Use `errorHandling: stop`';
  const fix = `${test}, or read it with \`.?\` in an expression.`;
  return [{ level: 'warning', code: 'REFERENCE_SKIPPABLE', message, fix }];
}

function unknownField(
  { parts, text, isOptional }: MappingRead,
  known: LintName,
  context: SchemaContext,
): readonly LintFinding[] {
  const path = schemaOfPath(schemaOfName(known, context), parts);
  if ('schema' in path || (isOptional && !path.isCertain)) return [];
  const meant = closest(path.missing, path.fields);
  const fields =
    path.fields.length === 0
      ? 'It has no fields.'
      : `Use one of ${path.fields.slice(0, 10).map(quoteName).join(', ')}.`;
  const fix = meant === undefined ? fields : `Did you mean \`${quoteName(meant)}\`?`;
  // A schema that permits more fields does not say that this one is missing.
  const level = path.isCertain && !isOptional ? 'error' : 'warning';
  return [
    { level, code: 'FIELD_UNKNOWN', message: `\`${text}\` refers to the unknown field \`${path.missing}\`.`, fix },
  ];
}
