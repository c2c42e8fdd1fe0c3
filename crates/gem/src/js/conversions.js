// Functions of the engine that make values of texts, and texts of values, in time that a text can
// make long: names that hash alike, large numbers, long patterns, marks without an end. Each is
// bounded, or done so that the engine looks at the request's CPU time.
import { native } from "sarsen:native";
import { charge, replace } from "sarsen:work";

const { apply, construct } = Reflect;
const { defineProperty, getOwnPropertyNames, getOwnPropertyDescriptor } = Object;
const { iterator } = Symbol;
const { BigInt, RegExp, SyntaxError, RangeError, TypeError } = globalThis;

// JSON.parse. What has half a surrogate pair in it is no text in UTF-8; of such texts the engine
// parses those that are too short to take long.
const { parse } = JSON;

function checkUnread(text) {
  if (text.length <= native.jsonPlainMax) return;
  throw new SyntaxError("half a surrogate pair that is not an escape, in a long text");
}

export function parseText(text) {
  const value = native.parse(text);
  if (value !== undefined) return value;
  checkUnread(text);
  return apply(parse, undefined, [text]);
}

replace(JSON, "parse", {
  guarded(given, reviver) {
    const text = typeof given === "string" ? given : `${given}`;
    if (typeof reviver !== "function") return parseText(text);
    if (!native.checkJson(text)) checkUnread(text);
    return apply(parse, undefined, [text, reviver]);
  },
}.guarded);

// The same as the engine's, but in a loop that it interrupts: names may hash alike.
replace(Object, "fromEntries", {
  guarded(entries) {
    if (entries === undefined || entries === null) {
      throw new TypeError("Object.fromEntries: expected entries that can be iterated over");
    }
    const object = {};
    const member = { __proto__: null, writable: true, enumerable: true, configurable: true };
    for (const entry of entries) {
      if ((typeof entry !== "object" || entry === null) && typeof entry !== "function") {
        throw new TypeError("Object.fromEntries: expected each entry to be an object");
      }
      const name = entry[0];
      member.value = entry[1];
      defineProperty(object, name, member);
    }
    return object;
  },
}.guarded);

// The same for groups, whose names are what a function gives. To find one may take as long as there
// are others.
function grouped(items, nameOf, [has, get, add]) {
  if (items === undefined || items === null || typeof nameOf !== "function") {
    throw new TypeError("groupBy: expected items that can be iterated over, and a function");
  }
  let [index, groups] = [0, 0];
  for (const item of items) {
    const name = nameOf(item, index);
    index += 1;
    charge(groups);
    const found = has(name);
    if (found !== undefined) {
      apply(push, get(found), [item]);
    } else {
      add(name, [item]);
      groups += 1;
    }
  }
}

const { push } = Array.prototype;

replace(Object, "groupBy", {
  guarded(items, nameOf) {
    const groups = { __proto__: null };
    const call = (item, index) => {
      const name = nameOf(item, index);
      return typeof name === "symbol" ? name : `${name}`;
    };
    grouped(items, typeof nameOf === "function" ? call : undefined, [
      (name) => (name in groups ? name : undefined),
      (name) => groups[name],
      (name, group) => (groups[name] = group),
    ]);
    return groups;
  },
}.guarded);

const { Map } = globalThis;
const { get: getOf, set: setOf } = Map.prototype;

replace(Map, "groupBy", {
  guarded(items, nameOf) {
    const groups = new Map();
    grouped(items, nameOf, [
      (name) => apply(getOf, groups, [name]),
      (group) => group,
      (name, group) => apply(setOf, groups, [name, group]),
    ]);
    return groups;
  },
}.guarded);

// Texts and bigints become each other in time that grows with the square of their length.
function checkDigits(text) {
  if (typeof text !== "string" || text.length <= native.bigintCharsMax) return;
  const most = native.bigintCharsMax;
  throw new RangeError(`BigInt: expected at most ${most} characters, got ${text.length}`);
}

const { prototype: bigints } = BigInt;
const { toString, valueOf } = bigints;

function GuardedBigInt(value) {
  if (new.target !== undefined) throw new TypeError("BigInt is not a constructor");
  // What becomes of an object is asked for once: it may be another text the next time.
  const given = typeof value === "object" && value !== null ? primitive(value) : value;
  checkDigits(given);
  return BigInt(given);
}

function primitive(object) {
  const convert = object[Symbol.toPrimitive];
  if (convert !== undefined && convert !== null) return apply(convert, object, ["number"]);
  const value = object.valueOf();
  return typeof value === "object" && value !== null ? object.toString() : value;
}

inherit(GuardedBigInt, BigInt);
defineProperty(bigints, "constructor", { value: GuardedBigInt });

for (const name of ["toString", "toLocaleString"]) {
  replace(bigints, name, {
    guarded(radix) {
      const value = apply(valueOf, this, []);
      // Comparisons take no time to speak of.
      if (value >= LARGEST || value <= -LARGEST) {
        throw new RangeError(`${name}: expected a bigint of at most ${BITS_MAX} bits`);
      }
      return apply(toString, value, [radix]);
    },
  }.guarded);
}

const BITS_MAX = 65_536;
const LARGEST = 1n << BigInt(BITS_MAX);

// Patterns that are made while a request is served may be what a visitor wrote: to compile a long
// one takes the square of its length.
function checkPattern(pattern) {
  if (typeof pattern !== "string" || pattern.length <= native.patternCharsMax) return;
  if (!native.isServing()) return;
  const most = native.patternCharsMax;
  throw new RangeError(`RegExp: expected at most ${most} characters, got ${pattern.length}`);
}

function isPattern(value) {
  return value instanceof RegExp || (typeof value === "object" && value?.[Symbol.match]);
}

function asText(pattern) {
  return pattern === undefined || isPattern(pattern) ? pattern : `${pattern}`;
}

function GuardedRegExp(pattern, flags) {
  if (new.target === undefined) {
    // A regular expression without other flags is itself.
    if (isPattern(pattern) && flags === undefined && pattern.constructor === GuardedRegExp) {
      return pattern;
    }
    return new GuardedRegExp(pattern, flags);
  }
  const given = asText(pattern);
  checkPattern(given);
  return construct(RegExp, [given, flags], new.target);
}

inherit(GuardedRegExp, RegExp);
defineProperty(RegExp.prototype, "constructor", { value: GuardedRegExp });

const { compile } = RegExp.prototype;
if (compile !== undefined) {
  replace(RegExp.prototype, "compile", {
    guarded(pattern, flags) {
      const given = asText(pattern);
      checkPattern(given);
      return apply(compile, this, [given, flags]);
    },
  }.guarded);
}

// They make a regular expression of a text.
for (const name of ["match", "matchAll", "search"]) {
  const original = String.prototype[name];
  const { guarded } = {
    guarded(pattern) {
      const isOwn = pattern === undefined || pattern === null || typeof pattern === "object";
      const given = isOwn && !isArrayLike(pattern) ? pattern : `${pattern}`;
      checkPattern(given);
      return apply(original, this, [given]);
    },
  };
  replace(String.prototype, name, guarded);
}

function isArrayLike(value) {
  return typeof value === "object" && value !== null && !isPattern(value) && value[iterator];
}

// Marks are sorted by pairs.
const SHORT = 1_000;
let marks;
const { test } = RegExp.prototype;

function checkMarks(name, text) {
  if (text.length <= SHORT) return;
  charge(text.length);
  const most = native.marksMax;
  marks ??= new RegExp(`\\p{M}{${most + 1}}`, "u");
  if (!apply(test, marks, [text])) return;
  throw new RangeError(`${name}: expected at most ${most} combining marks in a row`);
}

const { localeCompare, normalize } = String.prototype;
replace(String.prototype, "normalize", {
  guarded(form) {
    if (this === undefined || this === null) return apply(normalize, this, []);
    const text = `${this}`;
    checkMarks("normalize", text);
    return apply(normalize, text, form === undefined ? [] : [form]);
  },
}.guarded);
replace(String.prototype, "localeCompare", {
  guarded(other) {
    if (this === undefined || this === null) return apply(localeCompare, this, []);
    const [text, second] = [`${this}`, `${other}`];
    checkMarks("localeCompare", text);
    checkMarks("localeCompare", second);
    return apply(localeCompare, text, [second]);
  },
}.guarded);

// Gives a function all that another one has.
function inherit(guarded, original) {
  for (const name of [...getOwnPropertyNames(original), Symbol.species]) {
    const described = getOwnPropertyDescriptor(original, name);
    if (described !== undefined) defineProperty(guarded, name, described);
  }
  const { name } = original;
  defineProperty(globalThis, name, { value: guarded, writable: true, configurable: true });
}
