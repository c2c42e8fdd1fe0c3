// `db`: collections, and the identity map behind them. A document read in a request is one object,
// the same each time; what the handler changed in it is found and staged by `flush`.
//
// Order. Whenever a native operation on a key could see or replace a document that was handed
// out, the changes made to that object so far are staged first. So the operations of a handler
// take effect in the order in which it wrote them.
import { check } from "sarsen:life";
import { native } from "sarsen:native";
import { encode, freeze, isObject, parse, tokensOf } from "sarsen:persist";
import { adopt, guard, perform, serviceOf } from "sarsen:services";

// What is known of one document: the value handed out (undefined if there is none) and the text
// that the transaction holds for it.
class Entry {
  constructor(text, value) {
    this.text = text;
    this.value = value;
  }

  // What the transaction holds now.
  static of(name, key) {
    const text = native.get(name, key);
    return new Entry(text, text === undefined ? undefined : parse(text));
  }
}

// Services that are asked about changes may change other documents, about which others are asked;
// so many times at most.
const FLUSHES_MAX = 8;

class Collection {
  // The collection's name, the request's number, entries by key, and the collection's service if it
  // has one; one field, because each costs every request.
  #own;

  constructor(name, life) {
    this.#own = { name, life, entries: undefined, service: serviceOf(name) };
  }

  // The document, or undefined. A JSON document only; another media type is an error.
  get(key) {
    const own = this.#own;
    checkUse(own, key);
    let entry = own.entries?.get(key);
    if (entry === undefined) {
      entry = Entry.of(own.name, key);
      follow(own, key, entry);
    }
    return entry.value;
  }

  // As `get`, but frozen, and other requests may change the document without a conflict: what
  // comes back may be older than this request's commit. Own changes are seen.
  peek(key) {
    const own = this.#own;
    checkUse(own, key);
    stage(own, key, own.entries?.get(key));
    const text = native.peek(own.name, key);
    return text === undefined ? undefined : freeze(parse(text));
  }

  // insert(key, value), or insert(value) for a new key that sorts by time. Returns the key.
  insert(...given) {
    const own = this.#own;
    check(own.life);
    if (given.length === 1) {
      const key = native.newKey();
      store(own, "POST", key, given[0]);
      return key;
    }
    const [key, value] = given;
    if (this.get(key) !== undefined) {
      throw new Error(`${where(own, key)} exists; expected a new key (use put to replace it)`);
    }
    store(own, "POST", key, value);
    return key;
  }

  // Stores `value`, whatever was there. From now on it is the object of this key: later changes
  // to it are found too.
  put(key, value) {
    const own = this.#own;
    checkUse(own, key);
    store(own, "PUT", key, value);
  }

  // Deletes the document; an object that was handed out for it is no longer followed.
  delete(key) {
    const own = this.#own;
    checkUse(own, key);
    if (own.service !== undefined) serveRemoval(own, key);
    native.remove(own.name, key);
    follow(own, key, new Entry(undefined, undefined));
  }

  // add(key, delta) or add(key, path, delta): adds to the number at `path` (a JSON Pointer; ""
  // is the whole document), in a way that never conflicts with other additions.
  add(key, path, delta) {
    const own = this.#own;
    checkUse(own, key);
    if (arguments.length === 2) {
      delta = path;
      path = "";
    }
    if (typeof path !== "string" || (path !== "" && path[0] !== "/")) {
      throw new TypeError(`${where(own, key)}: add expects a path such as "/count"`);
    }
    if (!Number.isFinite(delta)) {
      throw new TypeError(`${where(own, key)}: add expects a finite number, got ${typeof delta}`);
    }
    const entry = own.entries?.get(key);
    stage(own, key, entry);
    merge(own, key, () => native.add(own.name, key, path, delta));
    if (entry !== undefined) refresh(own, key, entry, path);
  }

  // Stages what the handler changed in the documents handed out.
  static flush(collection) {
    const own = collection.#own;
    let served = false;
    if (own.entries === undefined) return served;
    for (const [key, entry] of own.entries) served = stage(own, key, entry) || served;
    return served;
  }
}

function checkUse({ name, life, service }, key) {
  check(life);
  if (typeof key !== "string") {
    throw new TypeError(`db.${name}: expected a string as the key, got ${typeof key}`);
  }
  if (!key.isWellFormed()) {
    throw new TypeError(`db.${name}: expected a key of whole characters, got half a pair`);
  }
  if (service !== undefined) guard(name, key);
}

function where(own, key) {
  return `db.${own.name} "${key}"`;
}

function follow(own, key, entry) {
  own.entries ??= new Map();
  own.entries.set(key, entry);
}

// Stages what was changed in the object that was handed out. Whether a service was asked, which may
// have changed others.
function stage(own, key, entry) {
  // Only objects can have changed without a call.
  if (entry === undefined || !isObject(entry.value)) return false;
  const text = encode(entry.value, where, own, key);
  if (text === entry.text) return false;
  const stored =
    own.service?.PATCH === undefined ? text : perform(own.name, "PATCH", key, entry.text, text);
  native.change(own.name, key, stored);
  entry.text = stored;
  if (stored === text) return own.service !== undefined;
  entry.value = adopt(entry.value, parse(stored));
  return true;
}

// Stages `value`, and follows it from now on.
function store(own, method, key, value) {
  const text = encode(value, where, own, key);
  if (own.service === undefined) {
    native.put(own.name, key, text);
    follow(own, key, new Entry(text, value));
    return;
  }
  const before = present(own, key);
  const stored =
    own.service[method] === undefined ? text : perform(own.name, method, key, before, text);
  native.put(own.name, key, stored);
  follow(own, key, new Entry(stored, stored === text ? value : adopt(value, parse(stored))));
}

// The text of the document of a collection with a service, before it is written. One that has
// expired and still waits for `onExpire` gets that first.
function present(own, key) {
  const text = native.get(own.name, key);
  if (text !== undefined || own.service.EXPIRE === undefined) return text;
  const expired = native.expired(own.name, key);
  if (expired === undefined) return undefined;
  perform(own.name, "EXPIRE", key, expired, undefined);
  native.remove(own.name, key);
  return undefined;
}

function serveRemoval(own, key) {
  const before = present(own, key);
  if (before === undefined || own.service.DELETE === undefined) return;
  perform(own.name, "DELETE", key, before, undefined);
}

// Stages a merge operation. Where a service has to see what comes of it, it is a read, too.
function merge(own, key, operation) {
  if (own.service === undefined) return operation();
  const before = present(own, key);
  const staged = operation();
  const text = native.get(own.name, key);
  if (own.service.PATCH === undefined || text === undefined || text === before) return staged;
  try {
    const stored = perform(own.name, "PATCH", key, before, text);
    if (stored !== text) native.change(own.name, key, stored);
  } catch (error) {
    // Whoever catches it must not find the change there.
    if (before === undefined) native.remove(own.name, key);
    else native.change(own.name, key, before);
    throw error;
  }
  return staged;
}

// Brings an addition into the object handed out, which otherwise holds what the transaction
// holds: only the number at `path` differs.
function refresh(own, key, entry, path) {
  const fresh = Entry.of(own.name, key);
  entry.text = fresh.text;
  if (isObject(entry.value)) {
    const tokens = tokensOf(path);
    const last = tokens.pop();
    const step = (value, token) => value?.[token];
    const holder = tokens.reduce(step, entry.value);
    if (isObject(holder)) holder[last] = tokens.reduce(step, fresh.value)?.[last];
    // An object with a toJSON of its own cannot take the sum; the key gets a plain one instead.
    if (encode(entry.value, where, own, key) === fresh.text) return;
  }
  entry.value = fresh.value;
}

// The `db` of one request: the traps of a proxy, which makes collections as they are named.
export class Database {
  #life;
  #collections = { __proto__: null };

  constructor(life) {
    this.#life = life;
  }

  get(_, name) {
    if (typeof name !== "string") return undefined;
    return this.#collections[name] ?? this.#open(name);
  }

  set(_, name) {
    throw new TypeError(`db.${String(name)} cannot be assigned; use db.<collection>.put(...)`);
  }

  #open(name) {
    native.checkCollection(name);
    const collection = new Collection(name, this.#life);
    this.#collections[name] = collection;
    return collection;
  }

  static flush(database) {
    const collections = database.#collections;
    let passes = 0;
    for (let served = true; served; passes += 1) {
      served = false;
      if (passes > FLUSHES_MAX) {
        throw new Error(`services change each other's documents again and again, without an end`);
      }
      for (const name in collections) served = Collection.flush(collections[name]) || served;
    }
  }
}
