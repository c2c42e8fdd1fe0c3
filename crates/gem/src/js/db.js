// `db`: collections, and the identity map behind them. A document read in a request is one object,
// the same each time; what the handler changed in it is found and staged by `flush`. How one
// document is read and staged is in documents.js.
//
// Order. Whenever a native operation on a key could see or replace a document that was handed
// out, the changes made to that object so far are staged first. So the operations of a handler
// take effect in the order in which it wrote them.
import {
  Entry, checkUse, flush, follow, forget, merge, remove, settle, stage, store, where,
} from "sarsen:documents";
import { expiryOf } from "sarsen:durations";
import { check } from "sarsen:life";
import { native } from "sarsen:native";
import { freeze, revive } from "sarsen:persist";
import { Range, queryOf, withDates } from "sarsen:results";
import { serviceOf } from "sarsen:services";
import { Stored, idOf, isStored } from "sarsen:stored";

// As they are now: an application may replace its globals.
const { Error, Number, TypeError } = globalThis;

const { defineProperty } = Object;

class Collection {
  // The collection's name and number, the request's number, entries by key, and the collection's
  // service if it has one; one field, because each costs every request.
  #own;

  constructor(name, at, life) {
    this.#own = { name, at, life, entries: undefined, service: serviceOf(name) };
  }

  // The document, or undefined. A JSON document only; another media type is an error.
  get(key) {
    const own = this.#own;
    checkUse(own, key);
    let entry = own.entries?.get(key);
    if (entry === undefined) {
      entry = Entry.of(own, key);
      follow(own, key, entry);
    }
    return entry.value;
  }

  // As `get`, but frozen, and other requests may change the document without a conflict: what
  // comes back may be older than this request's commit. Own changes are seen.
  peek(key) {
    const own = staged(this.#own, key);
    return freeze(native.peek(own.at, key, revive));
  }

  // Whether there is a document, of whatever media type.
  has(key) {
    const own = this.#own;
    checkUse(own, key);
    return native.has(own.at, key);
  }

  // What is known of the document beside its value: `version` (undefined if it is not committed
  // yet), `created`, `updated`, `expires` (or undefined), `mediaType` and `size` in bytes;
  // undefined if there is no document.
  meta(key) {
    const own = staged(this.#own, key);
    const meta = native.meta(own.at, key);
    return meta && withDates(meta);
  }

  // The documents between two keys, in the order of their keys; see results.js. `from` and `to` are
  // keys that belong to it, `after` and `before` do not; `prefix` is what keys begin with.
  range(options) {
    return new Range(this.#own, options);
  }

  // The keys of a range.
  keys(options) {
    return this.range(options).keys();
  }

  // How many documents are in a range.
  count(options) {
    return this.range(options).count();
  }

  // The documents to which a filter applies: query`stars >= ${n} AND tags:${tag}`. All, without.
  query(...given) {
    return queryOf(this.#own, given);
  }

  // insert(key, value, options), or insert(value) for a new key that sorts by time. Returns the
  // key. The options are those of `put`.
  insert(...given) {
    const own = this.#own;
    check(own.life);
    if (given.length === 1) {
      const key = native.newKey();
      store(own, "POST", key, given[0]);
      return key;
    }
    const [key, value, options] = given;
    if (this.has(key)) {
      throw new Error(`${where(own, key)} exists; expected a new key (use put to replace it)`);
    }
    store(own, "POST", key, value, expiresBy(own, key, options));
    return key;
  }

  // Stores `value`, whatever was there. From now on it is the object of this key: later changes
  // to it are found too. `options.expiresIn` (milliseconds, or "30m") or `options.expires` (a
  // Date) say when it expires; without them it does as the collection's settings say.
  put(key, value, options) {
    const own = this.#own;
    checkUse(own, key);
    store(own, "PUT", key, value, expiresBy(own, key, options));
  }

  // Deletes the document; an object that was handed out for it is no longer followed.
  delete(key) {
    const own = this.#own;
    checkUse(own, key);
    remove(own, key);
  }

  // Says when the document expires from now on; without options it does as one that is put now.
  // False if there is no document.
  expire(key, options) {
    const own = staged(this.#own, key);
    const entry = own.entries?.get(key);
    return native.expire(entry?.id, own.at, key, expiresBy(own, key, options));
  }

  // A document of any media type: { mediaType, bytes }; undefined if there is none.
  getBytes(key) {
    const own = staged(this.#own, key);
    const found = native.getBytes(own.at, key);
    return found && { mediaType: found[0], bytes: found[1] };
  }

  // Stores bytes as a document of another media type than JSON.
  putBytes(key, bytes, { mediaType = "application/octet-stream", ...options } = {}) {
    const own = this.#own;
    checkUse(own, key);
    if (own.service !== undefined) {
      throw new Error(`${where(own, key)}: a collection with a service holds JSON documents only`);
    }
    if (bytes instanceof ArrayBuffer) bytes = new Uint8Array(bytes);
    if (!(bytes instanceof Uint8Array)) {
      throw new TypeError(`${where(own, key)}: putBytes expects a Uint8Array or an ArrayBuffer`);
    }
    const expires = expiresBy(own, key, options);
    native.putBytes(own.at, key, String(mediaType), bytes.toBase64(), expires);
    forget(own, key);
  }

  // The content of a document of any media type and size, by reference: `mediaType`, `size` and, if
  // it is in a file of its own, `hash` (BLAKE3). It can be returned, and be put with `putStored`,
  // and is never in memory. undefined if there is no document.
  stored(key) {
    const own = staged(this.#own, key);
    const id = native.stored(own.at, key);
    return id === undefined ? undefined : new Stored(id, own.life, native.meta(own.at, key));
  }

  // Stores what `stored` gave as a document of another media type than JSON. Large content is not
  // copied.
  putStored(key, stored, { mediaType = stored?.mediaType, ...options } = {}) {
    const own = this.#own;
    checkUse(own, key);
    if (own.service !== undefined) {
      throw new Error(`${where(own, key)}: a collection with a service holds JSON documents only`);
    }
    if (!isStored(stored)) {
      throw new TypeError(`${where(own, key)}: putStored expects what \`stored\` has given`);
    }
    const expires = expiresBy(own, key, options);
    native.putStored(own.at, key, idOf(stored), String(mediaType), expires);
    forget(own, key);
  }

  // Stages what the handler changed in the documents handed out.
  static flush(collection) {
    return flush(collection.#own);
  }

  static merge(collection, operation, key, given) {
    const own = collection.#own;
    checkUse(own, key);
    const [path, value] = given.length === 1 ? ["", given[0]] : given;
    if (typeof path !== "string" || (path !== "" && path[0] !== "/")) {
      throw new TypeError(`${where(own, key)}: ${operation} expects a path such as "/count"`);
    }
    if (NUMERIC.includes(operation) && !Number.isFinite(value)) {
      const got = typeof value === "number" ? value : typeof value;
      throw new TypeError(`${where(own, key)}: ${operation} expects a finite number, got ${got}`);
    }
    merge(own, operation, key, [path, value]);
  }
}

// The merge operations: (key, value), or (key, path, value) with a JSON Pointer; "" is the whole
// document. They never conflict with each other.
const NUMERIC = ["add", "min", "max"];
for (const operation of [...NUMERIC, "append", "setAdd", "setRemove", "insertIfAbsent"]) {
  const value = {
    [operation](key, ...given) {
      Collection.merge(this, operation, key, given);
    },
  }[operation];
  defineProperty(Collection.prototype, operation, { value, writable: true, configurable: true });
}

// Checks the use of a key, and stages what was changed in its object.
function staged(own, key) {
  checkUse(own, key);
  stage(own, key, own.entries?.get(key));
  return own;
}

function expiresBy(own, key, options) {
  return options === undefined ? undefined : expiryOf(options, () => where(own, key));
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
    const collection = new Collection(name, native.open(name), this.#life);
    this.#collections[name] = collection;
    return collection;
  }

  static flush(database) {
    const collections = database.#collections;
    settle(() => {
      let served = false;
      for (const name in collections) served = Collection.flush(collections[name]) || served;
      return served;
    });
  }
}
