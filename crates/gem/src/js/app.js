// The application object: it collects what is registered while the application's modules load.
// Matching a request against it is not done here: the engine takes the list once and compiles it.
import { native } from "sarsen:native";
import { install, service } from "sarsen:services";
import { define, serve } from "sarsen:tasks";

// Gives the engine the entries of an application, in the order of registration, and closes the
// list. undefined: it is no App.
export let take;

// Puts the services of an application that was taken in place, and lists them.
export let takeServices;

// The same for its tasks and crons.
export let takeTasks;

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// An App, or a part of one: what it registers goes to one list, under its prefix.
export class App {
  // What this App and its groups share: entries, services by collection, tasks, and why no more
  // may be added, if so.
  #list;
  #prefix;

  constructor() {
    this.#list = { entries: [], services: new Map(), tasks: [], closed: undefined };
    this.#prefix = "";
  }

  static {
    take = (app) => {
      if (typeof app !== "object" || app === null || !(#list in app)) return undefined;
      app.#list.closed = "routes are registered while the application loads, not later";
      return app.#list.entries;
    };
    takeServices = (app) => install(app.#list.services);
    takeTasks = (app) => {
      serve(app.#list.tasks);
      return app.#list.tasks;
    };
  }

  // Answers GET, and HEAD where no route of its own does. As the methods below: a pattern, then
  // any number of middleware, then the handler.
  get(pattern, ...functions) {
    return this.#route("app.get", ["GET"], pattern, functions);
  }

  head(pattern, ...functions) {
    return this.#route("app.head", ["HEAD"], pattern, functions);
  }

  post(pattern, ...functions) {
    return this.#route("app.post", ["POST"], pattern, functions);
  }

  put(pattern, ...functions) {
    return this.#route("app.put", ["PUT"], pattern, functions);
  }

  patch(pattern, ...functions) {
    return this.#route("app.patch", ["PATCH"], pattern, functions);
  }

  delete(pattern, ...functions) {
    return this.#route("app.delete", ["DELETE"], pattern, functions);
  }

  options(pattern, ...functions) {
    return this.#route("app.options", ["OPTIONS"], pattern, functions);
  }

  // Answers every method.
  all(pattern, ...functions) {
    return this.#route("app.all", METHODS, pattern, functions);
  }

  // Answers these methods ("GET", or a list) on these patterns (one, or a list).
  on(methods, patterns, ...functions) {
    const wanted = [methods].flat().map((name) => String(name).toUpperCase());
    const unknown = wanted.find((name) => !METHODS.includes(name));
    if (unknown !== undefined || wanted.length === 0) {
      throw new TypeError(
        `app.on: expected methods out of ${METHODS.join(", ")}, got ${unknown ?? "none"}`,
      );
    }
    for (const pattern of [patterns].flat()) this.#route("app.on", wanted, pattern, functions);
    return this;
  }

  // Runs `functions` for all that is registered after them, or for all of that at `pattern` and
  // below it.
  use(...given) {
    const [pattern, functions] =
      typeof given[0] === "function" ? ["*", given] : [given[0], given.slice(1)];
    const call = "app.use";
    checkPattern(call, pattern);
    checkFunctions(call, pattern, functions);
    return this.#add(call, "middleware", below(this.#path(pattern)), functions, []);
  }

  // Registers what `define` registers on its argument, each pattern behind `prefix`.
  group(prefix, define) {
    const call = "app.group";
    checkPattern(call, prefix);
    checkFunctions(call, prefix, [define]);
    this.#checkOpen(call);
    const group = new App();
    group.#list = this.#list;
    group.#prefix = this.#path(prefix);
    if (typeof define(group)?.then === "function") {
      throw new TypeError(`${call}("${prefix}"): expected a function that is not async`);
    }
    return this;
  }

  // Registers all that `app` has, each pattern behind `prefix`. From then on nothing can be added
  // to it.
  route(prefix, app) {
    const call = "app.route";
    checkPattern(call, prefix);
    if (typeof app !== "object" || app === null || !(#list in app)) {
      throw new TypeError(`${call}("${prefix}"): expected an App, got ${typeof app}`);
    }
    if (app.#list === this.#list) {
      throw new TypeError(`${call}("${prefix}"): an App cannot be a part of itself`);
    }
    const path = this.#path(prefix);
    for (const { kind, pattern, functions, methods } of app.#list.entries) {
      this.#add(call, kind, join(path, pattern), functions, methods);
    }
    for (const [name, bound] of app.#list.services) this.#bind(name, bound);
    this.#addTasks(call, app.#list.tasks);
    app.#list.closed = "it is part of another App by now; register its routes before app.route";
    return this;
  }

  // Answers what no route takes; in a group, below its prefix. Its status is 404 if it does not
  // say another.
  notFound(handler) {
    return this.#only("app.notFound", "notFound", handler);
  }

  // Answers what fails: (error, context) => reply. In a group, below its prefix.
  onError(handler) {
    return this.#only("app.onError", "onError", handler);
  }

  // Binds functions to a collection: they are asked about each of its documents that is read or
  // written, whoever does it.
  service(collection, functions) {
    if (this.#list.closed !== undefined) {
      throw new Error("app.service: services are bound while the application loads, not later");
    }
    return this.#bind(collection, service(collection, functions));
  }

  #bind(collection, bound) {
    const { services } = this.#list;
    if (services.has(collection)) {
      throw new Error(`app.service("${collection}"): the collection has a service already`);
    }
    services.set(collection, bound);
    return this;
  }

  // Runs `handler` for each task of this name that a handler has started:
  // task(name, { attempts, backoff, timeout, expires }, handler).
  task(name, ...given) {
    return this.#addTasks("app.task", [define("app.task", name, undefined, given)]);
  }

  // Runs `handler` at the times of a cron expression, in UTC: cron(expression, name, options,
  // handler), with options as of a task.
  cron(expression, name, ...given) {
    return this.#addTasks("app.cron", [define("app.cron", name, String(expression), given)]);
  }

  #addTasks(call, definitions) {
    const { tasks, closed } = this.#list;
    if (closed !== undefined) {
      throw new Error(`${call}: tasks are defined while the application loads, not later`);
    }
    for (const definition of definitions) {
      if (tasks.some((task) => task.name === definition.name)) {
        throw new Error(`${call}("${definition.name}"): there is a task of that name already`);
      }
      tasks.push(definition);
    }
    return this;
  }

  #only(call, kind, handler) {
    if (typeof handler !== "function") {
      throw new TypeError(`${call}: expected a function, got ${typeof handler}`);
    }
    return this.#add(call, kind, below(this.#prefix), [handler], []);
  }

  #route(call, methods, pattern, functions) {
    checkPattern(call, pattern);
    checkFunctions(call, pattern, functions);
    return this.#add(call, "route", this.#path(pattern), functions, methods);
  }

  #add(call, kind, pattern, functions, methods) {
    this.#checkOpen(call);
    native.checkPattern(pattern);
    const { entries } = this.#list;
    const isUnique = kind === "notFound" || kind === "onError";
    if (isUnique && entries.some((entry) => entry.kind === kind && entry.pattern === pattern)) {
      throw new Error(`${call}: "${pattern}" has a function for that already`);
    }
    const title = methods.length === METHODS.length ? "ALL" : methods.join(",") || kind;
    entries.push({ kind, pattern, functions, methods, title });
    return this;
  }

  #checkOpen(call) {
    const { closed } = this.#list;
    if (closed !== undefined) throw new Error(`${call}: ${closed}`);
  }

  // A pattern with the prefix.
  #path(pattern) {
    return join(this.#prefix, pattern === "*" ? "/*" : pattern);
  }
}

// `pattern` below `prefix`, which ends without a slash unless it is another pattern. The group's
// own "/" is the prefix itself.
function join(prefix, pattern) {
  if (prefix === "" || prefix === "/") return pattern;
  const trimmed = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  if (pattern === "/") return trimmed;
  if (!pattern.startsWith("/")) {
    throw new TypeError(`a path starts with "/"; got "${pattern}"`);
  }
  return trimmed + pattern;
}

// The pattern for `path` and all below it.
function below(path) {
  if (path.endsWith("*")) return path;
  return path.endsWith("/") ? `${path}*` : `${path}/*`;
}

function checkPattern(call, pattern) {
  if (typeof pattern !== "string") {
    throw new TypeError(`${call}: expected a path such as "/notes/:id", got ${typeof pattern}`);
  }
}

function checkFunctions(call, pattern, functions) {
  if (functions.length === 0) {
    throw new TypeError(`${call}("${pattern}"): expected a function, got none`);
  }
  const wrong = functions.find((each) => typeof each !== "function");
  if (wrong !== undefined || functions.includes(undefined)) {
    throw new TypeError(`${call}("${pattern}"): expected a function, got ${typeof wrong}`);
  }
}
