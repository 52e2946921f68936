/** A map with at most `max` entries. Setting a key makes it the newest; past `max` the oldest entry is evicted. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override set(key: K, value: V): this {
    super.delete(key);
    super.set(key, value);
    if (this.size > this.#max) super.delete(this.keys().next().value as K);
    return this;
  }
}

/** A set with at most `max` values. Adding a value makes it the newest; past `max` the oldest value is evicted. */
export class BoundedSet<T> extends Set<T> {
  readonly #max: number;

  constructor(max: number) {
    super();
    this.#max = max;
  }

  override add(value: T): this {
    super.delete(value);
    super.add(value);
    if (this.size > this.#max) super.delete(this.values().next().value as T);
    return this;
  }
}
