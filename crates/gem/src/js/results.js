// Many documents at once: what `range` and `query` of a collection give. Nothing is read before
// the result is iterated, and then a batch at a time; each iteration reads anew. What comes is a
// frozen copy: the object to change is that of `get`.
import { flush, settle } from "sarsen:documents";
import { check } from "sarsen:life";
import { native } from "sarsen:native";
import { freeze, revive } from "sarsen:persist";

const { isArray } = Array;
const { entries, freeze: seal } = Object;

// Documents of the first batch of a range, and of later ones.
const FIRST_BATCH = 16;
const BATCH = 256;

// Documents of one page of a query that has no limit.
const PAGE = 1000;

// How many elements of a batch belong to one document.
const WIDTHS = { keys: 1, entries: 2, documents: 3 };

class Results {
  // [key, value] of each document; the value of what is not JSON is undefined.
  *[Symbol.iterator]() {
    for (const batch of this.batches("entries")) {
      for (let i = 0; i < batch.length; i += 2) yield [batch[i], freeze(batch[i + 1])];
    }
  }

  entries() {
    return this[Symbol.iterator]();
  }

  *keys() {
    for (const batch of this.batches("keys")) yield* batch;
  }

  *values() {
    for (const [, value] of this) yield value;
  }

  // { key, value, version, created, updated, expires, mediaType, size } of each document.
  *documents() {
    for (const batch of this.batches("documents")) {
      for (let i = 0; i < batch.length; i += 3) {
        yield documentOf(batch[i], freeze(batch[i + 1]), batch[i + 2]);
      }
    }
  }

  // An array of what `make` gives for each [key, value].
  map(make) {
    const made = [];
    for (const entry of this) made.push(make(entry, made.length));
    return made;
  }

  toArray() {
    return [...this];
  }

  // The first [key, value]; undefined if there is none.
  first() {
    for (const entry of this) return entry;
    return undefined;
  }
}

function documentOf(key, value, meta) {
  return seal({ key, value, ...withDates(meta) });
}

// What is known of a document beside its value, with dates instead of milliseconds.
export function withDates(meta) {
  for (const name of ["created", "updated", "expires"]) {
    if (meta[name] !== undefined) meta[name] = freeze(new Date(meta[name]));
  }
  return seal(meta);
}

const BOUNDS = ["from", "after", "to", "before", "prefix"];

// The documents between two keys, in the order of their keys.
export class Range extends Results {
  #own;
  #bounds;
  #limit;

  constructor(own, options = {}) {
    super();
    check(own.life);
    this.#own = own;
    this.#bounds = checkBounds(own, options);
    this.#limit = checkLimit(own, "range", options.limit) ?? Infinity;
  }

  // How many there are. They are read for that, and count so.
  count() {
    const count = native.countRange(this.#open());
    return Math.min(count, this.#limit);
  }

  *batches(wanted) {
    const own = this.#own;
    const range = this.#open();
    let left = this.#limit;
    for (let size = FIRST_BATCH; left > 0; size = BATCH) {
      check(own.life);
      settle(() => flush(own));
      const batch = native.nextOfRange(range, Math.min(size, left), wanted, revive);
      if (batch.length === 0) return;
      left -= batch.length / WIDTHS[wanted];
      yield batch;
    }
  }

  #open() {
    check(this.#own.life);
    settle(() => flush(this.#own));
    return native.openRange(this.#own.at, this.#bounds);
  }
}

function checkBounds(own, options) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`db.${own.name}: range expects options such as { from: "a", limit: 10 }`);
  }
  const bounds = {};
  for (const [name, value] of entries(options)) {
    if (name === "limit" || value === undefined) continue;
    const type = BOUNDS.includes(name) ? "string" : name === "reverse" ? "boolean" : undefined;
    if (type === undefined) {
      const known = [...BOUNDS, "reverse", "limit"].join(", ");
      throw new TypeError(`db.${own.name}: unknown option ${name} of range; there are ${known}`);
    }
    if (typeof value !== type || (type === "string" && !value.isWellFormed())) {
      throw new TypeError(`db.${own.name}: range expects ${name} to be a ${type}`);
    }
    bounds[name] = value;
  }
  return bounds;
}

function checkLimit(own, of, limit) {
  if (limit === undefined) return undefined;
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw new TypeError(`db.${own.name}: ${of} expects limit to be a whole number, got ${limit}`);
  }
  return limit;
}

// The documents to which a filter applies. Each method that says more of it gives another query.
export class Query extends Results {
  #own;
  #asked;
  #next;

  constructor(own, asked) {
    super();
    check(own.life);
    this.#own = own;
    this.#asked = asked;
  }

  // In which order, such as "stars desc, title"; without it by key.
  order(fields) {
    return this.#with("order", fields, "string");
  }

  // At most so many.
  limit(count) {
    checkLimit(this.#own, "query", count);
    return this.#with("limit", count, "number");
  }

  // What comes after the place of a cursor, `next` of another query with the same filter and order;
  // undefined is the beginning.
  after(cursor) {
    return cursor === undefined ? this : this.#with("after", cursor, "string");
  }

  // Only these members, such as "title,author.name".
  fields(names) {
    return this.#with("fields", names, "string");
  }

  // The cursor for `after`, once all that there is up to the limit was iterated; undefined if there
  // is no more.
  get next() {
    return this.#next;
  }

  // How many there are, whatever the limit. They are read for that, and count so.
  count() {
    check(this.#own.life);
    settle(() => flush(this.#own));
    return native.countFound(this.#own.at, this.#asked);
  }

  *batches(wanted) {
    const own = this.#own;
    let left = this.#asked.limit ?? Infinity;
    let { after } = this.#asked;
    this.#next = undefined;
    while (left > 0) {
      check(own.life);
      settle(() => flush(own));
      const limit = this.#asked.limit === undefined ? PAGE : left;
      const page = native.find(own.at, { ...this.#asked, limit, after }, wanted, revive);
      after = page.shift();
      left -= page.length / WIDTHS[wanted];
      if (left === 0) this.#next = after;
      yield page;
      if (after === undefined) return;
    }
  }

  #with(name, value, type) {
    if (typeof value !== type) {
      throw new TypeError(`db.${this.#own.name}: ${name} expects a ${type}, got ${typeof value}`);
    }
    return new Query(this.#own, { ...this.#asked, [name]: value });
  }
}

// The query for what stands in a template: query`stars >= ${n}`.
export function queryOf(own, given) {
  check(own.life);
  if (given.length === 0) return new Query(own, { pieces: [""], values: [] });
  const [strings, ...values] = given;
  if (!isArray(strings) || !isArray(strings.raw)) {
    throw new TypeError(
      `db.${own.name}: query is called with a template, query\`stars >= \${n}\`, so that no ` +
        `value can change what the filter says`,
    );
  }
  // A filter has escapes of its own in quotes.
  return new Query(own, { pieces: [...strings.raw], values: values.map((v) => bound(own, v)) });
}

function bound(own, value) {
  const type = typeof value;
  if (type === "string" && value.isWellFormed()) return value;
  if (type === "boolean" || value === null || Number.isFinite(value)) return value;
  if (value instanceof Date) return [value.toISOString(), value.getTime()];
  const got = type === "object" ? "an object" : type === "number" ? String(value) : type;
  const expected = "a text, a number, true, false, null or a Date";
  throw new TypeError(`db.${own.name}: a value in a query is ${expected}; got ${got}`);
}
