// The border between JavaScript values and stored JSON: dates and bytes, which JSON has not, have a
// form of their own there (docs/persistence.md); what would be lost is refused. The walk over a
// value is native (natives/encode.rs); here is what it asks about objects that are not plain.
import { parseText } from "sarsen:conversions";
import { native } from "sarsen:native";

const {
  defineProperty, freeze: seal, keys, getOwnPropertyNames, getPrototypeOf, setPrototypeOf,
} = Object;
const { isArray } = Array;
const { fromBase64 } = Uint8Array;

export const parse = parseText;

// As they are before an application is loaded, which may change prototypes.
const method = (type, name) => Function.prototype.call.bind(type.prototype[name]);
const timeOf = method(Date, "getTime");
const isoOf = method(Date, "toISOString");
const base64Of = method(Uint8Array, "toBase64");

// Objects that JSON.stringify would turn into `{}` or into something that reads back differently.
const LOSSY = [
  Map, Set, WeakMap, WeakSet, WeakRef, Promise, RegExp, Error, DataView, getPrototypeOf(Uint8Array),
  globalThis.SharedArrayBuffer, Number, String, Boolean, Symbol, BigInt,
].filter((type) => type !== undefined);

// What the walk makes of an object that is not plain: a text is what is written for it; a fault is
// in an array; undefined: what its toJSON gives, or its own members. Of the text that is the only
// member `name` of a plain object: whether it would be read as something else.
export function special(value, name) {
  if (name !== undefined) return tagged(name, value) !== undefined;
  if (value instanceof Date) {
    return Number.isNaN(timeOf(value)) ? ["an invalid Date"] : `{"$date":"${isoOf(value)}"}`;
  }
  if (value instanceof Uint8Array) return `{"$bytes":"${base64Of(value)}"}`;
  if (value instanceof ArrayBuffer) return `{"$bytes":"${base64Of(new Uint8Array(value))}"}`;
  // Arrays are plain; this one is not.
  if (isArray(value)) return ["a Proxy of an array"];
  const type = LOSSY.find((type) => value instanceof type);
  return type && [`a ${type.name}`];
}

// Makes dates and bytes of the objects in a parsed text that stand for them.
export function revive(value) {
  if (!isObject(value)) return value;
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = revive(value[i]);
    return value;
  }
  const names = keys(value);
  if (names.length === 1) {
    const untagged = untag(names[0], value[names[0]]);
    if (untagged !== undefined) return untagged;
  }
  for (const name of names) {
    const member = value[name];
    const revived = revive(member);
    if (revived !== member) defineProperty(value, name, { value: revived });
  }
  return value;
}

// What the only member of an object stands for, if for anything: a date or bytes; or an object with
// such a member that is none of these, which has one more `$` in its name.
function untag(name, text) {
  const meant = tagged(name, text);
  if (meant === undefined || name[1] !== "$") return meant;
  return { [name.slice(1)]: text };
}

// The date or bytes that `text` is, whatever the number of `$` before the name. Only what would be
// written the same: any other object with such a member is just that.
function tagged(name, text) {
  if (typeof text !== "string" || name[0] !== "$") return undefined;
  let at = 1;
  while (name[at] === "$") at += 1;
  const kind = name.slice(at);
  if (kind === "date") {
    const date = new Date(text);
    return !Number.isNaN(timeOf(date)) && isoOf(date) === text ? date : undefined;
  }
  if (kind !== "bytes") return undefined;
  try {
    const bytes = fromBase64.call(Uint8Array, text);
    return base64Of(bytes) === text ? bytes : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value) {
  return typeof value === "object" && value !== null;
}

// The JSON text of a document. If it cannot be stored, `where(...named)` is its name.
export function encode(value, where, ...named) {
  const text = native.encode(value, special);
  if (typeof text !== "string") throw new TypeError(`${where(...named)}: ${text[0]}`);
  return text;
}

// The value that a stored text stands for.
export function decode(text) {
  const value = parse(text);
  return text.includes("$date") || text.includes("$bytes") ? revive(value) : value;
}

// The tokens of an RFC 6901 pointer.
export function tokensOf(path) {
  return path
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// Freezes a value that came out of JSON text, all the way down. Bytes cannot be frozen: those in a
// frozen value are a copy that nobody else has.
export function freeze(value) {
  if (!isObject(value)) return value;
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) if (isObject(value[i])) freeze(value[i]);
  } else if (value instanceof Date) {
    setPrototypeOf(value, READ_ONLY_DATE);
  } else if (value instanceof Uint8Array) {
    return value;
  } else {
    for (const name of keys(value)) if (isObject(value[name])) freeze(value[name]);
  }
  return seal(value);
}

// Freezing a date does not keep it from being set.
const READ_ONLY_DATE = Object.create(Date.prototype);
for (const name of getOwnPropertyNames(Date.prototype)) {
  if (name.startsWith("set")) defineProperty(READ_ONLY_DATE, name, { value: refuse });
}

function refuse() {
  throw new TypeError("the date is read-only");
}

// What is said to whoever changes a frozen value. The engine's own message names the member only.
const FROZEN = /(is read-only|is not extensible|not configurable|could not delete property)$/;

// `error`, or a clearer one if a frozen value was about to be changed.
export function explain(error) {
  if (!(error instanceof TypeError) || !FROZEN.test(error.message)) return error;
  error.message += " (what peek, range and query give is read-only; use get(key) to change it)";
  return error;
}
