// Services: the functions that an application binds to a collection, and the calls of them. What a
// call is about is found and staged by others: by `db` for handlers, by a face for its clients.
import { check, now } from "sarsen:life";
import { native } from "sarsen:native";
import { decode, encode, freeze, isObject } from "sarsen:persist";

const { assign, getPrototypeOf, hasOwn, keys } = Object;
const { isArray } = Array;

// By what is done, the functions that are asked, the first that there is.
const FUNCTIONS = {
  GET: ["onGet"],
  POST: ["onPost", "onPut"],
  PUT: ["onPut"],
  PATCH: ["onPatch", "onPut"],
  DELETE: ["onDelete"],
  EXPIRE: ["onExpire"],
};
const METHODS = keys(FUNCTIONS);
const NAMES = METHODS.map((method) => FUNCTIONS[method][0]);
const AsyncFunction = getPrototypeOf(async () => {}).constructor;

// Most calls within each other.
const DEPTH_MAX = 8;

// The services by collection; undefined if the application has none.
let services;

// The calls that are under way, the outermost first, and the request that they are part of.
let calls = [];
let callsLife = 0;

// Makes what a handler would receive.
let makeTurn;

// Called once by the module that knows turns.
export function bindTurns(make) {
  makeTurn = make;
}

// Checks what an application binds, and gives it by what is done.
export function service(collection, functions) {
  const where = `app.service(${JSON.stringify(collection) ?? String(collection)})`;
  if (typeof collection !== "string") {
    throw new TypeError(`${where}: expected the name of a collection, got ${typeof collection}`);
  }
  native.checkCollection(collection);
  if (!isObject(functions)) {
    throw new TypeError(`${where}: expected an object with ${NAMES.join(", ")}`);
  }
  for (const name of keys(functions)) {
    if (!NAMES.includes(name)) {
      throw new TypeError(`${where}: expected ${NAMES.join(", ")}; got ${name}`);
    }
    const type = typeof functions[name];
    if (type !== "function") {
      throw new TypeError(`${where}: expected ${name} to be a function, got ${type}`);
    }
  }
  const bound = { __proto__: null };
  for (const method of METHODS) {
    const name = FUNCTIONS[method].find((name) => functions[name] !== undefined);
    if (name !== undefined) bound[method] = { name, call: functions[name] };
  }
  if (keys(bound).length === 0) throw new TypeError(`${where}: expected at least one function`);
  return bound;
}

// Puts the services of the application in place. Gives what the engine has to know of them: names
// of collections, each with what is done through it, by which function.
export function install(bound) {
  services = bound.size > 0 ? bound : undefined;
  const list = (functions) =>
    keys(functions).map((method) => `${method} ${functions[method].name}`);
  return [...bound].map(([collection, functions]) => [collection, ...list(functions)]);
}

// The service of a collection, if it has one.
export function serviceOf(collection) {
  return services?.get(collection);
}

// What a function receives. What is not its own is made when it is first asked for.
class Call {
  #life;
  #turn;
  #session;

  constructor(frame) {
    this.#life = now();
    this.#turn = makeTurn();
    const { collection, key, method, doc, body } = frame;
    assign(this, { collection, key, method, doc, body });
  }

  get db() {
    return this.#turn.db;
  }

  // Nobody asks for an expiry.
  get request() {
    return this.method === "EXPIRE" ? undefined : this.#turn.request;
  }

  get time() {
    return this.#turn.time;
  }

  get cache() {
    return this.#turn.cache;
  }

  // Starts a task with the commit, as in handlers.
  get task() {
    return this.#turn.task;
  }

  // The id of the token that the request came with; undefined without one.
  get principal() {
    check(this.#life);
    return native.principal();
  }

  // The visitor's session as it is now; it cannot be changed here.
  get session() {
    if (this.method === "EXPIRE") return undefined;
    this.#session ??= freeze(decode(encode(this.#turn.session, () => "session")));
    return this.#session;
  }
}

// One call: of the function for `method`, about the document at `key`; `doc` and `body` are texts.
class Frame {
  constructor(collection, method, key, doc, body) {
    const bound = services.get(collection)[method];
    this.collection = collection;
    this.method = method;
    this.key = key;
    this.doc = doc === undefined ? undefined : decode(doc);
    // What is shown may be shaped; what is there cannot be changed in this way.
    if (method !== "GET") freeze(this.doc);
    this.body = body === undefined ? undefined : decode(body);
    this.call = bound.call;
    this.title = `${collection}.${bound.name}`;
  }

  start() {
    this.given = new Call(this);
    return this.call.call(undefined, this.given);
  }

  // The text that is shown or stored, by what the function returned.
  text(result) {
    if (this.method === "DELETE" || this.method === "EXPIRE") return undefined;
    const proposed = this.method === "GET" ? this.given.doc : this.given.body;
    const where = () => `${this.title} "${this.key}"`;
    return encode(result === undefined ? proposed : result, where);
  }
}

// The calls of the request that is being served.
function stack() {
  if (callsLife !== now()) {
    callsLife = now();
    calls = [];
  }
  return calls;
}

// Whether a call under way is about this document.
export function isAsked(collection, key) {
  if (callsLife !== now()) return false;
  return calls.some((call) => call.key === key && call.collection === collection);
}

// Refuses to touch a document that a call under way is about: `doc` and `body` are that document.
export function guard(collection, key) {
  if (callsLife !== now()) return;
  for (const call of calls) {
    if (call.key === key && call.collection === collection) {
      throw new Error(
        `db.${collection} "${key}" is what ${call.title} is being asked about: use doc and body`,
      );
    }
  }
}

// Calls the function for `method` from within a handler or another function, and gives the text
// that is to be stored.
export function perform(collection, method, key, doc, body) {
  const under = stack();
  const frame = new Frame(collection, method, key, doc, body);
  if (under.length >= DEPTH_MAX) {
    const titles = under.map((call) => call.title).join(", ");
    throw new Error(`services call each other more than ${DEPTH_MAX} deep: ${titles}`);
  }
  if (frame.call instanceof AsyncFunction) throw waits(frame);
  under.push(frame);
  try {
    const result = frame.start();
    if (typeof result?.then !== "function") return frame.text(result);
    // Nobody will look at it.
    result.then(undefined, () => {});
    throw waits(frame);
  } finally {
    under.pop();
  }
}

function waits(frame) {
  return new Error(
    `${frame.title} is asynchronous: a face can call it, but db.${frame.collection} in a handler ` +
      `or another function does not wait`,
  );
}

// Starts the call that a face asks for; its frame stays until the request's next turn.
export function begin(collection, method, key, doc, body) {
  const under = stack();
  const frame = new Frame(collection, method, key, doc, body);
  under.push(frame);
  return frame;
}

// Whether it is an object whose members are all that it is. A member of this name would be taken
// for the prototype when it is assigned.
function isPlain(value) {
  return (
    isObject(value) && getPrototypeOf(value) === Object.prototype && !hasOwn(value, "__proto__")
  );
}

// Brings `value`, which a handler holds, to what was stored instead of it: the same object where
// that can be.
export function adopt(value, stored) {
  if (isArray(value) && isArray(stored)) {
    value.splice(0, value.length, ...stored);
    return value;
  }
  if (!isPlain(value) || !isPlain(stored)) return stored;
  for (const name of keys(value)) {
    if (!hasOwn(stored, name)) delete value[name];
  }
  return assign(value, stored);
}
