import type { Json, JsonObject } from '../../core/call.ts';
import { isObject } from '../../core/json.ts';

/** Returns the defaults of the properties of the input. */
export function inputDefaults(schema: JsonObject | undefined): JsonObject {
  const properties = isObject(schema?.properties) ? schema.properties : {};
  const entries = Object.entries(properties).flatMap(([name, property]): [string, Json][] =>
    isObject(property) && property.default !== undefined ? [[name, property.default]] : [],
  );
  return Object.fromEntries(entries);
}
