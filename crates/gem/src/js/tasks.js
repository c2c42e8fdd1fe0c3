// Tasks and crons: how an application defines them, how a handler starts one, and what the handler
// of one receives. When they run, and what becomes of those that fail, is `tasks/`'s in Rust.
import { milliseconds } from "sarsen:durations";
import { fetch } from "sarsen:fetch";
import { check } from "sarsen:life";
import { native } from "sarsen:native";
import { decode, encode } from "sarsen:persist";
import { reply } from "sarsen:reply";

const OPTIONS = ["attempts", "backoff", "timeout", "expires"];

// As it is now: an application may replace its globals.
const { Map } = globalThis;

// The tasks of the application that is served, by name.
let known = new Map();

// Sets them; the engine calls this once the application is loaded.
export function serve(definitions) {
  known = new Map(definitions.map((definition) => [definition.name, definition]));
}

// A definition as the engine takes it: `cron` is the expression, undefined for a task.
export function define(call, name, cron, [options, handler]) {
  if (handler === undefined && typeof options === "function") {
    handler = options;
    options = {};
  }
  if (typeof name !== "string" || !native.isTaskName(name)) {
    throw new TypeError(
      `${call}: expected a name of letters, digits, "-", "_" and ".", at most 64, ` +
        `got ${show(name)}`,
    );
  }
  const where = `${call}("${name}")`;
  if (typeof handler !== "function") {
    throw new TypeError(`${where}: expected a function, got ${typeof handler}`);
  }
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where}: expected an object of options, got ${show(options)}`);
  }
  checkNames(where, options, OPTIONS);
  const given = { ...native.taskDefaults(), expires: 0, ...options };
  const times = ["backoff", "timeout", "expires"];
  const [backoff, timeout, expires] = times.map((each) =>
    duration(given[each], `${where}: ${each}`),
  );
  try {
    if (cron !== undefined) native.checkCron(String(cron));
    native.checkTask(Number(given.attempts), [backoff, timeout, expires]);
  } catch (error) {
    throw new RangeError(`${where}: ${error.message}`);
  }
  const { attempts } = given;
  return { name, cron, attempts, backoff, timeout, expires, handler: runner(handler) };
}

// Zero is none.
function duration(value, name) {
  return value === 0 ? 0 : milliseconds(value, name);
}

function checkNames(where, options, names) {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`${where}: there is no option "${unknown}"; it can be ${names.join(", ")}`);
  }
}

function show(value) {
  return typeof value === "string" ? `"${value}"` : typeof value;
}

// What the engine runs for a task, as it runs the handler of a request.
function runner(handler) {
  return (turn) => {
    const facts = native.beginTask();
    // It was cancelled, or has run.
    if (facts === undefined) return reply({ status: 410 });
    const result = handler(new Task(turn, facts));
    return typeof result?.then === "function" ? result.then(nothing) : undefined;
  };
}

function nothing() {}

// What the handler of a task receives.
class Task {
  #turn;
  #facts;
  #payload;

  constructor(turn, facts) {
    this.#turn = turn;
    this.#facts = facts;
  }

  get db() {
    return this.#turn.db;
  }

  get cache() {
    return this.#turn.cache;
  }

  get task() {
    return this.#turn.task;
  }

  // Asks another server; the run ends, and another one has the answer.
  get fetch() {
    return fetch;
  }

  // Milliseconds since 1970, the same for the whole run.
  get time() {
    return this.#turn.time;
  }

  // What the task was started with.
  get payload() {
    this.#payload ??= decode(this.#facts[0]);
    return this.#payload;
  }

  // 1 in the first run, and 1 more after each that failed.
  get attempt() {
    return this.#facts[1];
  }

  // The same in every run of this task, and no other's.
  get id() {
    return this.#facts[2];
  }

  get name() {
    return this.#facts[3];
  }

  // When it was to run, in milliseconds since 1970.
  get due() {
    return this.#facts[4];
  }
}

// The `task` of a request or a task: task(name, payload, { delay, key, expires }).
export function starter(life) {
  return (name, payload = null, options = {}) => {
    check(life);
    const definition = known.get(name);
    if (definition === undefined) throw unknown(name);
    const where = `task("${name}")`;
    if (definition.cron !== undefined) {
      throw new TypeError(`${where}: it is a cron, which starts itself ("${definition.cron}")`);
    }
    checkNames(where, options, ["delay", "key", "expires"]);
    const { delay = 0, key, expires = definition.expires } = options;
    if (key !== undefined && (typeof key !== "string" || !key.isWellFormed())) {
      throw new TypeError(`${where}: expected the key as a string, got ${typeof key}`);
    }
    const life_ms = duration(expires, `${where}: expires`);
    const text = encode(payload, () => where);
    return native.startTask(
      name,
      text,
      duration(delay, `${where}: delay`),
      key,
      life_ms === 0 ? undefined : life_ms,
    );
  };
}

function unknown(name) {
  const names = [...known.keys()].map((each) => `"${each}"`).join(", ");
  const hint = names === "" ? "it has none" : `it has ${names}`;
  return new TypeError(
    `task(${show(name)}): the application has no task of that name; ${hint} (app.task defines one)`,
  );
}
