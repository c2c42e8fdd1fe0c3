// What a test does with the repository and the clock behind the server that it asks.
import { Database } from "sarsen:db";
import { milliseconds } from "sarsen:durations";
import { begin, end } from "sarsen:life";
import { native } from "sarsen:native";

// As often as this a transaction of a test runs again when it has lost to another one.
const ATTEMPTS_MAX = 20;
const NOTHING = Object.freeze({ __proto__: null });

// Runs `body({ db })` as one transaction, as a handler is run, and gives what it returns. It
// commits when `body` returns; when `body` throws, nothing has changed.
export function transaction(body) {
  if (typeof body !== "function") {
    throw new TypeError(`transaction: expected a function, got ${typeof body}`);
  }
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const ran = attemptOne(body);
    if (ran.committed) return ran.result;
  }
  throw new Error(`transaction: it lost to other transactions ${ATTEMPTS_MAX} times`);
}

function attemptOne(body) {
  native.testBegin();
  let done = false;
  let committed = false;
  let result;
  try {
    const database = new Database(begin());
    result = plain(body({ db: new Proxy(NOTHING, database) }));
    Database.flush(database);
    done = true;
  } finally {
    end();
    committed = native.testEnd(done);
  }
  return { committed, result };
}

// A range is read while its transaction lasts; anything else stays what it is.
function plain(result) {
  if (typeof result?.then === "function") {
    throw new TypeError("transaction: expected a function that is not async");
  }
  if (typeof result !== "object" || result === null || Array.isArray(result)) return result;
  return typeof result[Symbol.iterator] === "function" ? [...result] : result;
}

// `db.notes.get("a")` and all else that a handler's `db` does, each call a transaction of its own.
// What it gives is a frozen copy: to change a document, put it, or use `transaction`.
export const db = new Proxy(NOTHING, {
  get(_, name) {
    if (typeof name !== "string") return undefined;
    return new Proxy(NOTHING, {
      get(_, method) {
        if (typeof method !== "string") return undefined;
        return (...given) => {
          const open = (db) => call(db, name, method, given);
          if (MANY.includes(method)) return new Found(open);
          return frozen(transaction(({ db }) => open(db)));
        };
      },
    });
  },
});

const MANY = ["range", "query"];

// What `range` and `query` give. It is read when it is asked for something, each time anew and in
// a transaction of its own.
class Found {
  #open;
  #next;

  constructor(open) {
    this.#open = open;
  }

  get next() {
    return this.#next;
  }

  static read(found, method, given) {
    return transaction(({ db }) => {
      const results = found.#open(db);
      const read = plain(results[method](...given));
      found.#next = results.next;
      return read;
    });
  }

  static refined(found, method, given) {
    return new Found((db) => found.#open(db)[method](...given));
  }
}

for (const method of ["entries", "keys", "values", "documents", Symbol.iterator]) {
  Found.prototype[method] = function (...given) {
    return Found.read(this, method, given).values();
  };
}
for (const method of ["map", "toArray", "first", "count"]) {
  Found.prototype[method] = function (...given) {
    return Found.read(this, method, given);
  };
}
for (const method of ["order", "limit", "after", "fields"]) {
  Found.prototype[method] = function (...given) {
    return Found.refined(this, method, given);
  };
}

function call(db, name, method, given) {
  const collection = db[name];
  if (typeof collection[method] !== "function") {
    throw new TypeError(`db.${name}.${method} is not a function`);
  }
  return collection[method](...given);
}

function frozen(value) {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

// The clock of the repository, which the application sees. It stands still but for a millisecond
// with each request, and for what a test advances it by.
export const clock = Object.freeze({
  // Milliseconds since 1970.
  now: () => native.testNow(),
  // Moves it on by milliseconds or by a text such as "31m": what expires by then has expired and
  // its onExpire has run, and so have tasks that are due by then.
  advance(duration) {
    native.testAdvance(milliseconds(duration, "clock.advance"));
  },
  // Waits until what is due now has run: tasks that requests have started.
  settle() {
    native.testAdvance(0);
  },
});
