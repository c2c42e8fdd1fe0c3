// Bounds functions of arrays whose work is given by a length that any object may claim, and which
// never ask whether the request's time is up: `[].reverse.call({ length: 2 ** 53 })` would not end
// in a lifetime. What they do with a real array is counted.
import { charge, replace } from "sarsen:work";

const { apply } = Reflect;
const { isArray } = Array;

// More elements than a heap of 1 GiB holds; a hole costs some 50 ns.
const LENGTH_MAX = 2 ** 26;

function check(name, length) {
  if (length > LENGTH_MAX) {
    throw new RangeError(`${name}: expected at most ${LENGTH_MAX} elements, got ${String(length)}`);
  }
  if (length > 0) charge(length);
}

const BY_OWN_LENGTH = [
  "copyWithin", "flat", "flatMap", "join", "reverse", "shift", "slice", "splice",
  "toLocaleString", "unshift",
];

for (const name of BY_OWN_LENGTH) {
  const original = Array.prototype[name];
  // A method, so that it cannot be constructed, as the original.
  const { guarded } = {
    guarded(...given) {
      check(name, this?.length);
      return apply(original, this, given);
    },
  };
  replace(Array.prototype, name, guarded);
}

// These are interrupted by themselves where the object is no array of its own.
for (const name of ["includes", "indexOf", "lastIndexOf"]) {
  const original = Array.prototype[name];
  const { guarded } = {
    guarded(...given) {
      if (isArray(this)) charge(this.length);
      return apply(original, this, given);
    },
  };
  replace(Array.prototype, name, guarded);
}

const { concat } = Array.prototype;
replace(Array.prototype, "concat", {
  guarded(...given) {
    check("concat", this?.length);
    for (let i = 0; i < given.length; i++) if (isArray(given[i])) check("concat", given[i].length);
    return apply(concat, this, given);
  },
}.guarded);

// Without a function that compares, sorting asks for nothing: with this one the engine looks at
// the clock, and the order is the same.
const SORTED_ALONE_MAX = 10_000;
const text = String;

function byText(a, b) {
  const [first, second] = [text(a), text(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

for (const name of ["sort", "toSorted"]) {
  const original = Array.prototype[name];
  const { guarded } = {
    guarded(compare) {
      check(name, this?.length);
      const isLong = compare === undefined && this.length > SORTED_ALONE_MAX;
      return apply(original, this, [isLong ? byText : compare]);
    },
  };
  replace(Array.prototype, name, guarded);
}

const { raw } = String;
replace(String, "raw", {
  guarded(strings, ...given) {
    check("raw", strings?.raw?.length);
    return apply(raw, this, [strings, ...given]);
  },
}.guarded);

const { drop } = Iterator.prototype;
replace(Iterator.prototype, "drop", {
  guarded(count) {
    check("drop", count);
    return apply(drop, this, [count]);
  },
}.guarded);
