// The documents of a request, one by one: what was handed out is followed, and what was changed is
// staged, past the collection's service if it has one. `db.js` is what a handler sees of it.
//
// A collection is known here by what `db.js` keeps of it ("own"): its name and number, the
// request's number, entries by key, and its service.
import { check, number } from "sarsen:life";
import { native } from "sarsen:native";
import { decode, encode, isObject, revive, special, tokensOf } from "sarsen:persist";
import { adopt, guard, isAsked, perform } from "sarsen:services";

// As they are now: an application may replace its globals.
const { Error, Map } = globalThis;

const { isArray } = Array;

// What is known of one document: the value handed out (undefined if there is none), and the number
// by which the native side knows the text that the transaction holds for it. A key keeps its number
// as long as it is followed: the text of each number is held until the run ends.
export class Entry {
  constructor(value, id = number()) {
    this.id = id;
    this.value = value;
  }

  // What the transaction holds now.
  static of(own, key, id) {
    const entry = new Entry(undefined, id);
    entry.value = native.get(entry.id, own.at, key, revive);
    return entry;
  }
}

// The number that a key has, if it has one.
function idOf(own, key) {
  return own.entries?.get(key)?.id;
}

export function checkUse({ name, life, service }, key) {
  check(life);
  if (typeof key !== "string") {
    throw new TypeError(`db.${name}: expected a string as the key, got ${typeof key}`);
  }
  if (!key.isWellFormed()) {
    throw new TypeError(`db.${name}: expected a key of whole characters, got half a pair`);
  }
  if (service !== undefined) guard(name, key);
}

export function where(own, key) {
  return `db.${own.name} "${key}"`;
}

export function follow(own, key, entry) {
  own.entries ??= new Map();
  own.entries.set(key, entry);
}

// Stages what was changed in the objects that were handed out. Whether a service was asked, which
// may have changed others.
export function flush(own) {
  let served = false;
  if (own.entries === undefined) return served;
  for (const [key, entry] of own.entries) served = stage(own, key, entry) || served;
  return served;
}

// Most times that what services change is staged again, which may ask others.
const FLUSHES_MAX = 8;

// Calls `flushOnce` until no service is asked any more: each may change objects that were staged
// before.
export function settle(flushOnce) {
  for (let passes = 0; flushOnce(); passes += 1) {
    if (passes === FLUSHES_MAX) {
      throw new Error(`services change each other's documents again and again, without an end`);
    }
  }
}

// The same as `flush` for one of them.
export function stage(own, key, entry) {
  // Only objects can have changed without a call.
  if (entry === undefined || !isObject(entry.value)) return false;
  if (own.service !== undefined) {
    // What its function is being asked about is staged when that has answered.
    return isAsked(own.name, key) ? false : stageServed(own, key, entry);
  }
  checkStored(own, key, native.change(entry.id, own.at, key, entry.value, special));
  return false;
}

// Stages `value`, and follows it from now on.
export function store(own, method, key, value, expires) {
  if (own.service !== undefined) return storeServed(own, method, key, value, expires);
  const entry = new Entry(value, idOf(own, key));
  checkStored(own, key, native.put(entry.id, own.at, key, value, special, expires));
  follow(own, key, entry);
}

// Stages a deletion; an object that was handed out is no longer followed.
export function remove(own, key) {
  if (own.service !== undefined) serveRemoval(own, key);
  native.remove(own.at, key);
  follow(own, key, new Entry(undefined, idOf(own, key)));
}

// Follows a document no more.
export function forget(own, key) {
  const id = idOf(own, key);
  if (id === undefined) return;
  native.forget(id);
  own.entries.delete(key);
}

// What a native function says of a value that was to be stored.
function checkStored(own, key, refused) {
  if (refused !== undefined) throw new TypeError(`${where(own, key)}: ${refused[0]}`);
}

function stageServed(own, key, entry) {
  const text = encode(entry.value, where, own, key);
  const before = native.known(entry.id);
  if (text === before) return false;
  const stored =
    own.service.PATCH === undefined ? text : perform(own.name, "PATCH", key, before, text);
  native.changeText(entry.id, own.at, key, stored);
  if (stored !== text) entry.value = adopt(entry.value, decode(stored));
  return true;
}

function storeServed(own, method, key, value, expires) {
  const text = encode(value, where, own, key);
  const before = present(own, key);
  const stored =
    own.service[method] === undefined ? text : perform(own.name, method, key, before, text);
  const next = stored === text ? value : adopt(value, decode(stored));
  const entry = new Entry(next, idOf(own, key));
  native.putText(entry.id, own.at, key, stored, expires);
  follow(own, key, entry);
}

// The text of the document of a collection with a service, before it is written. One that has
// expired and still waits for `onExpire` gets that first.
function present(own, key) {
  const text = native.textOf(own.at, key);
  if (text !== undefined || own.service.EXPIRE === undefined) return text;
  const expired = native.expired(own.name, key);
  if (expired === undefined) return undefined;
  perform(own.name, "EXPIRE", key, expired, undefined);
  native.remove(own.at, key);
  return undefined;
}

function serveRemoval(own, key) {
  const before = present(own, key);
  if (before === undefined || own.service.DELETE === undefined) return;
  perform(own.name, "DELETE", key, before, undefined);
}

// Stages a merge operation on what is at `path`: by a number, or else by a value.
export function merge(own, operation, key, [path, value]) {
  const isNumber = operation === "add" || operation === "min" || operation === "max";
  const text = isNumber ? undefined : encode(value, () => `${where(own, key)}: ${operation}`);
  const entry = own.entries?.get(key);
  stage(own, key, entry);
  serveMerge(own, key, () => {
    if (isNumber) native.mergeNumber(operation, own.at, key, path, value);
    else native.mergeValue(operation, own.at, key, path, text);
  });
  if (entry !== undefined) refresh(own, key, entry, path, operation === "setRemove" && text);
}

// Where a service has to see what comes of a merge operation, it is a read, too.
function serveMerge(own, key, operation) {
  if (own.service === undefined) return operation();
  const before = present(own, key);
  operation();
  const text = native.textOf(own.at, key);
  if (own.service.PATCH === undefined || text === undefined || text === before) return;
  const id = idOf(own, key) ?? number();
  try {
    const stored = perform(own.name, "PATCH", key, before, text);
    if (stored !== text) replace(own, key, id, stored);
  } catch (error) {
    // Whoever catches it must not find the change there.
    if (before === undefined) native.remove(own.at, key);
    else replace(own, key, id, before);
    throw error;
  } finally {
    if (idOf(own, key) === undefined) native.forget(id);
  }
}

// Puts another text in the place of the document, which expires when it would have.
function replace(own, key, id, text) {
  native.get(id, own.at, key, revive);
  native.changeText(id, own.at, key, text);
}

// Brings a merge operation into the object handed out, which otherwise holds what the transaction
// holds: only what is at `path` differs, and an array there has more elements, or lacks those with
// the text `removed`.
function refresh(own, key, entry, path, removed) {
  const fresh = Entry.of(own, key, entry.id);
  if (isObject(entry.value)) {
    const tokens = tokensOf(path);
    const step = (value, token) => value?.[token];
    const [held, next] = [tokens.reduce(step, entry.value), tokens.reduce(step, fresh.value)];
    if (isArray(held) && isArray(next)) {
      update(held, next, removed);
    } else if (tokens.length > 0) {
      const last = tokens.pop();
      const holder = tokens.reduce(step, entry.value);
      if (isObject(holder)) holder[last] = next;
    }
    // An object with a toJSON of its own cannot take it; the key gets a plain one instead.
    if (native.is(entry.id, entry.value, special)) return;
  }
  entry.value = fresh.value;
}

// In place: somebody may hold the array, or an element of it.
function update(held, next, removed) {
  if (removed === false) {
    for (let i = held.length; i < next.length; i++) held.push(next[i]);
    return;
  }
  for (let i = held.length - 1; i >= 0; i--) {
    if (native.encode(held[i], special) === removed) held.splice(i, 1);
  }
}
