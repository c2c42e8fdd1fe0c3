// Bounds functions of the engine whose work is given by a length that any object may claim, and
// which never ask whether the request's time is up: `[].reverse.call({ length: 2 ** 53 })` would
// not end in a lifetime. What is bounded by the heap is not in here.

const { apply } = Reflect;
const { defineProperty } = Object;
const { isArray } = Array;

// More elements than a heap of 1 GiB holds; a hole costs some 50 ns.
const LENGTH_MAX = 2 ** 26;

function check(name, length) {
  if (length > LENGTH_MAX) {
    throw new RangeError(`${name}: expected at most ${LENGTH_MAX} elements, got ${String(length)}`);
  }
}

function replace(holder, name, guarded) {
  const { length } = holder[name];
  defineProperty(guarded, "name", { value: name, configurable: true });
  defineProperty(guarded, "length", { value: length, configurable: true });
  defineProperty(holder, name, { value: guarded, writable: true, configurable: true });
}

const BY_OWN_LENGTH = [
  "copyWithin", "flat", "flatMap", "join", "reverse", "shift", "slice", "sort", "splice",
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

const { concat } = Array.prototype;
replace(Array.prototype, "concat", {
  guarded(...given) {
    check("concat", this?.length);
    for (let i = 0; i < given.length; i++) if (isArray(given[i])) check("concat", given[i].length);
    return apply(concat, this, given);
  },
}.guarded);

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
