// The border between JavaScript values and stored JSON: what can be stored, and a clear refusal
// that names the place in the document for everything else.
const { stringify, parse } = JSON;
const { getPrototypeOf } = Object;
const { isArray } = Array;

export { parse };

// Objects that JSON.stringify would turn into `{}` or into something that reads back differently.
const LOSSY = [
  Map, Set, WeakMap, WeakSet, WeakRef, Promise, RegExp, Error, ArrayBuffer, DataView,
  getPrototypeOf(Uint8Array), Number, String, Boolean, Symbol, BigInt,
];

// Why JSON cannot hold `member`, which is at `key` of `holder`; undefined if it can.
function fault(holder, key, member) {
  switch (typeof member) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return member - member === 0 ? undefined : `the number ${member}`;
    case "undefined":
      return isArray(holder) ? "undefined in an array (use null)" : undefined;
    case "object":
      return objectFault(holder, key, member);
    default:
      return `a ${typeof member}`;
  }
}

function objectFault(holder, key, member) {
  if (member === null) {
    // An invalid Date says null when it is asked for its JSON.
    return holder[key] instanceof Date ? "an invalid Date" : undefined;
  }
  const prototype = getPrototypeOf(member);
  if (prototype === Object.prototype || prototype === null || isArray(member)) return undefined;
  const type = LOSSY.find((type) => member instanceof type);
  return type && `a ${type.name || "typed array"}`;
}

const REFUSED = new Error("refused");

// JSON.stringify calls this with what it is about to write, after any toJSON. So what is checked
// is what is stored.
function check(key, member) {
  if (fault(this, key, member) !== undefined) throw REFUSED;
  return member;
}

export function isObject(value) {
  return typeof value === "object" && value !== null;
}

// The JSON text of a document. If it cannot be stored, `where(...named)` is its name.
export function encode(value, where, ...named) {
  let text;
  try {
    text = stringify(value, check);
  } catch (error) {
    const found = locate(value);
    if (found === undefined) throw error;
    throw new TypeError(
      `${where(...named)}: the value at "${found.path}" is ${found.fault}, which cannot be stored`,
    );
  }
  if (text === undefined) {
    throw new TypeError(`${where(...named)}: expected a value to store, got undefined`);
  }
  return text;
}

// Walks the same way as `encode` did, keeping the path, to say where it failed.
function locate(value) {
  const holders = [];
  const path = [];
  let found;
  const visit = function (key, member) {
    while (holders.length > 0 && holders.at(-1) !== this) {
      holders.pop();
      path.pop();
    }
    const why = holders.includes(member) ? "a cycle" : fault(this, key, member);
    if (why !== undefined) {
      found = { path: pointer([...path, key]), fault: why };
      throw REFUSED;
    }
    if (isObject(member)) {
      holders.push(member);
      path.push(key);
    }
    return member;
  };
  try {
    stringify(value, visit);
  } catch (error) {
    if (error !== REFUSED) return undefined;
  }
  return found;
}

// RFC 6901. The first token is JSON.stringify's own wrapper around the document.
function pointer(tokens) {
  return tokens
    .slice(1)
    .map((token) => "/" + token.replaceAll("~", "~0").replaceAll("/", "~1"))
    .join("");
}

// The tokens of an RFC 6901 pointer.
export function tokensOf(path) {
  return path
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

// Freezes a value that came out of JSON text, all the way down.
export function freeze(value) {
  if (isObject(value)) {
    for (const key of Object.keys(value)) freeze(value[key]);
    Object.freeze(value);
  }
  return value;
}
