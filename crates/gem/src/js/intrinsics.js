// The language's own objects: once an application is loaded, nothing that serves a request can
// change them for the next one. They are collected before the application is loaded, so that what
// it adds of its own is not among them.
const {
  defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf,
} = Object;
const { apply, ownKeys } = Reflect;
const { Set, TypeError } = globalThis;

const found = new Set();

function collect(root) {
  const waiting = [root];
  while (waiting.length > 0) {
    const object = waiting.pop();
    const isObject = typeof object === "object" || typeof object === "function";
    if (!isObject || object === null || object === globalThis || found.has(object)) continue;
    found.add(object);
    waiting.push(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const { value, get, set } = getOwnPropertyDescriptor(object, key);
      waiting.push(value, get, set);
    }
  }
}

for (const key of ownKeys(globalThis)) {
  const { value, get, set } = getOwnPropertyDescriptor(globalThis, key);
  for (const root of [value, get, set]) collect(root);
}
// Without a name.
for (const hidden of [
  function* () {}, async () => {}, async function* () {}, [].values(), new Map().values(),
  new Set().values(), ""[Symbol.iterator](), "".matchAll(/./g), [].values().map((x) => x),
  Iterator.from({ next() {} }),
]) {
  collect(getPrototypeOf(hidden));
}

// Members of prototypes that programs assign to objects of their own. Where such a member cannot be
// written, an assignment to an object that inherits it fails, too: so these are pairs of functions,
// of which one gives the member and the other one makes an object's own.
const ERRORS = [
  Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
];
const ASSIGNED = [
  ...ERRORS.map(({ prototype }) => [prototype, ownKeys(prototype)]),
  [Object.prototype, ownKeys(Object.prototype)],
  ...[Array, ArrayBuffer, Date, Function, Iterator, Map, Promise, RegExp, Set, Uint8Array].map(
    ({ prototype }) => [prototype, ["toString", "toLocaleString", "toJSON", "valueOf"]],
  ),
];

function leaveAssignable(holder, name) {
  const described = getOwnPropertyDescriptor(holder, name);
  if (described === undefined || !("value" in described) || !described.configurable) return;
  const { value, enumerable } = described;
  const { get, set } = {
    get() {
      return value;
    },
    set(next) {
      if (this === holder) throw new TypeError(`'${String(name)}' is read-only`);
      defineProperty(this, name, {
        value: next, writable: true, enumerable: true, configurable: true,
      });
    },
  };
  freeze(get);
  freeze(set);
  defineProperty(holder, name, { get, set, enumerable, configurable: false });
}

// The engine calls it when the application is loaded.
export function freezeIntrinsics() {
  for (const [holder, names] of ASSIGNED) {
    for (const name of names) leaveAssignable(holder, name);
  }
  for (const object of found) freeze(object);
}
