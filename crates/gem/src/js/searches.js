// Searches in texts. The engine compares at each place anew and never asks whether the request's
// time is up: to look for 150,000 letters in 300,000 takes it minutes. So what may take long is
// done by a function whose time is given by the length of the text alone. What each function gives
// is what ECMA-262 says.
import { native } from "sarsen:native";
import { charge, replace } from "sarsen:work";

const { apply } = Reflect;
const { max, min, trunc } = Math;
const { prototype } = String;
const { charCodeAt, indexOf, lastIndexOf, slice } = prototype;
const { RegExp } = globalThis;
const { match, replace: replacing, split: splitting } = Symbol;
const { push } = Array.prototype;
const { prototype: numbers } = Object.getPrototypeOf(Uint32Array);
const lengthOf = Object.getOwnPropertyDescriptor(numbers, "length").get;

// Comparisons that the engine may make: about a millisecond.
const COMPARISONS_MAX = 2 ** 20;

// Whether the engine is to search by itself. Counts what that takes.
function isShort(text, sought) {
  const comparisons = text.length * sought.length;
  if (sought.length > 1 && comparisons > COMPARISONS_MAX) return false;
  charge(comparisons);
  return true;
}

// The places of `sought`, which is not empty, in `text`, each after the end of the one before.
function placesOf(text, sought) {
  return native.places(text, sought) ?? byTable(text, sought);
}

// The same for texts with half a surrogate pair (D. E. Knuth, J. H. Morris, V. R. Pratt, "Fast
// pattern matching in strings", 1977).
function byTable(text, sought) {
  const places = [];
  const shorter = [0];
  const at = (string, place) => apply(charCodeAt, string, [place]);
  for (let i = 1, matched = 0; i < sought.length; i++) {
    while (matched > 0 && at(sought, i) !== at(sought, matched)) matched = shorter[matched - 1];
    if (at(sought, i) === at(sought, matched)) matched += 1;
    shorter[i] = matched;
  }
  for (let i = 0, matched = 0; i < text.length; i++) {
    while (matched > 0 && at(text, i) !== at(sought, matched)) matched = shorter[matched - 1];
    if (at(text, i) === at(sought, matched)) matched += 1;
    if (matched === sought.length) {
      apply(push, places, [i + 1 - matched]);
      matched = 0;
    }
  }
  return places;
}

function count(places) {
  return typeof places.push === "function" ? places.length : apply(lengthOf, places, []);
}

function place(text, sought, from) {
  const found = native.place(text, sought, from, false);
  if (found !== undefined) return found;
  const places = byTable(apply(slice, text, [from]), sought);
  return places.length === 0 ? -1 : from + places[0];
}

function lastPlace(text, sought, from) {
  const found = native.place(text, sought, from, true);
  if (found !== undefined) return found;
  // Backwards, so that matches may overlap.
  const reversed = (string) => {
    let turned = "";
    for (let i = string.length - 1; i >= 0; i--) turned += string[i];
    return turned;
  };
  const end = min(text.length, from + sought.length);
  const places = byTable(reversed(apply(slice, text, [0, end])), reversed(sought));
  return places.length === 0 ? -1 : end - places[0] - sought.length;
}

// What the functions below do first: `this` as a text; what is sought, too, unless it searches by
// itself (a regular expression). Undefined: let the original say what is wrong.
function textOf(value) {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? undefined : `${value}`;
}

function whole(number) {
  const integer = trunc(number);
  return integer === integer ? integer : 0;
}

const { includes } = prototype;
replace(prototype, "includes", {
  guarded(sought, position) {
    const text = textOf(this);
    if (text === undefined || isPattern(sought)) return apply(includes, this, [sought, position]);
    const wanted = `${sought}`;
    const from = min(max(whole(position), 0), text.length);
    if (isShort(text, wanted)) return apply(includes, text, [wanted, from]);
    return place(text, wanted, from) !== -1;
  },
}.guarded);

replace(prototype, "indexOf", {
  guarded(sought, position) {
    const text = textOf(this);
    if (text === undefined) return apply(indexOf, this, [sought]);
    const wanted = `${sought}`;
    const from = min(max(whole(position), 0), text.length);
    if (isShort(text, wanted)) return apply(indexOf, text, [wanted, from]);
    return place(text, wanted, from);
  },
}.guarded);

replace(prototype, "lastIndexOf", {
  guarded(sought, position) {
    const text = textOf(this);
    if (text === undefined) return apply(lastIndexOf, this, [sought]);
    const wanted = `${sought}`;
    const number = +position;
    const from = number === number ? min(max(whole(number), 0), text.length) : text.length;
    if (isShort(text, wanted)) return apply(lastIndexOf, text, [wanted, from]);
    return lastPlace(text, wanted, from);
  },
}.guarded);

const { split } = prototype;
replace(prototype, "split", {
  guarded(separator, limit) {
    const isOwn = separator === undefined || (isObject(separator) && separator[splitting] != null);
    const text = isOwn ? undefined : textOf(this);
    if (text === undefined) return apply(split, this, [separator, limit]);
    const bound = limit === undefined ? 2 ** 32 - 1 : limit >>> 0;
    const wanted = `${separator}`;
    if (isShort(text, wanted)) return apply(split, text, [wanted, bound]);
    const pieces = [];
    if (bound === 0) return pieces;
    const places = placesOf(text, wanted);
    let end = 0;
    for (let i = 0; i < count(places); i++) {
      apply(push, pieces, [apply(slice, text, [end, places[i]])]);
      if (pieces.length === bound) return pieces;
      end = places[i] + wanted.length;
    }
    apply(push, pieces, [apply(slice, text, [end])]);
    return pieces;
  },
}.guarded);

// `replace` and `replaceAll`, once the matches are known.
function substituted(text, wanted, [places, length], instead) {
  let [result, end] = ["", 0];
  const put = (at) => {
    return typeof instead === "string"
      ? filled(instead, text, wanted, at)
      : `${apply(instead, undefined, [wanted, at, text])}`;
  };
  for (let i = 0; i < length; i++) {
    const at = places[i];
    result += apply(slice, text, [end, at]) + put(at);
    end = at + wanted.length;
  }
  return result + apply(slice, text, [end]);
}

// ECMA-262, GetSubstitution, of a match without captures.
function filled(template, text, wanted, at) {
  let [result, end] = ["", 0];
  for (;;) {
    const dollar = apply(indexOf, template, ["$", end]);
    if (dollar === -1) return result + apply(slice, template, [end]);
    const sign = template[dollar + 1];
    const instead =
      sign === "$" ? "$"
      : sign === "&" ? wanted
      : sign === "`" ? apply(slice, text, [0, at])
      : sign === "'" ? apply(slice, text, [min(at + wanted.length, text.length)])
      : undefined;
    const next = instead === undefined ? dollar + 1 : dollar + 2;
    result += apply(slice, template, [end, dollar]) + (instead ?? "$");
    end = next;
  }
}

const { replace: replaceOne, replaceAll } = prototype;
replace(prototype, "replace", {
  guarded(sought, instead) {
    const isOwn = isObject(sought) && sought[replacing] != null;
    const text = isOwn ? undefined : textOf(this);
    if (text === undefined) return apply(replaceOne, this, [sought, instead]);
    const wanted = `${sought}`;
    const given = typeof instead === "function" ? instead : `${instead}`;
    if (isShort(text, wanted)) return apply(replaceOne, text, [wanted, given]);
    const at = place(text, wanted, 0);
    if (at === -1) return text;
    return substituted(text, wanted, [[at], 1], given);
  },
}.guarded);

replace(prototype, "replaceAll", {
  guarded(sought, instead) {
    const isOwn = isObject(sought) && (isPattern(sought) || sought[replacing] != null);
    const text = isOwn ? undefined : textOf(this);
    if (text === undefined) return apply(replaceAll, this, [sought, instead]);
    const wanted = `${sought}`;
    const given = typeof instead === "function" ? instead : `${instead}`;
    if (isShort(text, wanted)) return apply(replaceAll, text, [wanted, given]);
    const places = placesOf(text, wanted);
    return substituted(text, wanted, [places, count(places)], given);
  },
}.guarded);

function isObject(value) {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isPattern(value) {
  return isObject(value) && (value[match] !== undefined ? !!value[match] : value instanceof RegExp);
}
