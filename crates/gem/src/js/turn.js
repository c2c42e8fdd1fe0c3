// One request's turn at the application: what its handler receives, and how it ends. The engine
// calls `run`, then runs pending jobs until none is left, then calls `finish`.
import { Cache } from "sarsen:cache";
import { Cookies } from "sarsen:cookies";
import { Database } from "sarsen:db";
import { fetch } from "sarsen:fetch";
import { begin, check, end, now } from "sarsen:life";
import { native } from "sarsen:native";
import { HttpError, isEngines, statusOf } from "sarsen:failure";
import { explain } from "sarsen:persist";
import { answer, decorate, header, status, withStatus } from "sarsen:reply";
import { Request, query, record } from "sarsen:request";
import { begin as beginCall, bindTurns } from "sarsen:services";
import { Visitor } from "sarsen:session";
import { starter } from "sarsen:tasks";

// As they are now: an application may replace its globals.
const { Error, Object, Proxy } = globalThis;

// The session of this run.
function visitor() {
  return (current.visitor ??= new Visitor());
}

// What is known of the turn being served: the number of its request, what its handler has asked
// for so far, and how it ended (`settled`, with `result`, or with `error` if it `failed`).
let current;

// What a handler receives. Everything is made when it is first asked for.
class Turn {
  #life;

  constructor(life) {
    this.#life = life;
  }

  static isServed(turn) {
    return turn.#life === now();
  }

  get db() {
    check(this.#life);
    if (current.db === undefined) {
      current.database = new Database(this.#life);
      current.db = new Proxy(NOTHING, current.database);
    }
    return current.db;
  }

  get session() {
    check(this.#life);
    return visitor().session;
  }

  get cookies() {
    check(this.#life);
    current.cookies ??= new Cookies(this.#life);
    return current.cookies;
  }

  get cache() {
    check(this.#life);
    current.cache ??= new Cache(this.#life);
    return current.cache;
  }

  // What follows is given as functions, so that a handler may take them out of its argument.

  // Starts the session of somebody who has logged in: a new id, and it holds `data` alone.
  get login() {
    return this.#about((data) => visitor().login(data));
  }

  // Ends the session.
  get logout() {
    return this.#about(() => visitor().logout());
  }

  // Gives the session a new id.
  get renewSession() {
    return this.#about(() => visitor().renew());
  }

  // Keeps a message for the page that is shown next.
  get flash() {
    return this.#about((message, kind = "info") => visitor().flash(message, kind));
  }

  // The messages that are kept, each shown once: a list of { message, kind }.
  get flashes() {
    return this.#about(() => visitor().flashes());
  }

  #about(act) {
    const life = this.#life;
    check(life);
    return (...given) => {
      check(life);
      return act(...given);
    };
  }

  get params() {
    check(this.#life);
    current.params ??= record(native.params());
    return current.params;
  }

  get query() {
    check(this.#life);
    current.query ??= query();
    return current.query;
  }

  get request() {
    check(this.#life);
    current.request ??= new Request(this.#life);
    return current.request;
  }

  // Says why a request asks no other server.
  get fetch() {
    return fetch;
  }

  // Starts a task with this request's commit: task(name, payload, { delay, key, expires }).
  get task() {
    check(this.#life);
    current.task ??= starter(this.#life);
    return current.task;
  }

  // Milliseconds since 1970, the same for the whole request; Date.now() gives it too.
  get time() {
    check(this.#life);
    return native.time();
  }

  // Sets a header field of the reply, whatever it will be: a default until there is a reply, and
  // a change of it from then on. `append` keeps what there is, as for set-cookie always.
  get header() {
    return this.#about((name, value, options) => {
      (current.fields ??= []).push(header(name, value, options, current.isReplied));
    });
  }

  // Sets the status, in the same way.
  get status() {
    return this.#about((code) => {
      current.status = { code: status("status", code), isLate: current.isReplied };
    });
  }
}

bindTurns(() => new Turn(now()));

// A proxy asks what it stands for; `db` stands for nothing, it only has traps.
const NOTHING = Object.freeze({ __proto__: null });

// Starts `handler`. It need not have ended when this returns: an async one goes on in jobs. If it
// fails, `onError` answers, if there is one.
export function run(handler, onError) {
  const context = new Turn(begin());
  const turn = { settled: false, failed: false };
  current = turn;
  if (onError !== undefined) {
    turn.onError = onError;
    turn.context = context;
  }
  follow(turn, handler, context);
}

function follow(turn, handler, first, second) {
  try {
    const result = handler(first, second);
    if (typeof result?.then === "function") wait(turn, result);
    else settle(turn, result);
  } catch (error) {
    fail(turn, error);
  }
}

function wait(turn, promise) {
  promise.then(
    (result) => settle(turn, result),
    (error) => fail(turn, error),
  );
}

// A promise may settle in another request: it says nothing of that one.
function settle(turn, result) {
  if (turn.settled || turn !== current) return;
  turn.settled = true;
  turn.result = result;
}

function fail(turn, error) {
  if (turn.settled || turn !== current) return;
  if (turn.onError !== undefined && !isEngines(error)) {
    const { onError, context } = turn;
    turn.onError = undefined;
    turn.recovered = { error: explain(error) };
    follow(turn, onError, turn.recovered.error, context);
    return;
  }
  turn.settled = true;
  turn.failed = true;
  turn.error = error;
}

// Notes that there is a reply for whom this context is: what is set from now on changes it.
export function replied(context) {
  if (Turn.isServed(context)) current.isReplied = true;
}

// Ends the turn, and gives the engine its answer: [status, media type, body, header fields,
// whether to abort, the error that was recovered from]; undefined if it waits for what it has asked
// for.
export function finish() {
  const turn = current;
  try {
    if (!turn.settled) {
      if (native.isWaiting()) return undefined;
      throw new Error("the handler's promise never settles: nothing is left that could settle it");
    }
    // The reply first: making it may call toJSON, and so change documents.
    const reply = turn.failed || turn.recovered !== undefined ? abort(turn) : answer(turn.result);
    if (turn.fields !== undefined || turn.status !== undefined) decorate(reply, turn);
    if (!reply[4]) flush(turn);
    return reply;
  } catch (error) {
    // Of a service that was asked about what the handler changed.
    if (error instanceof HttpError) return refused(error);
    throw explain(error);
  } finally {
    end();
    current = undefined;
  }
}

// Stages what the handler changed.
function flush({ database, visitor }) {
  if (database !== undefined) Database.flush(database);
  visitor?.flush();
}

// Starts the call of a service that a face asks for, as `run` starts a handler.
export function runCall(collection, method, key, doc, body) {
  begin();
  const turn = { settled: false, failed: false };
  current = turn;
  try {
    turn.call = beginCall(collection, method, key, doc, body);
    const result = turn.call.start();
    if (typeof result?.then === "function") wait(turn, result);
    else settle(turn, result);
  } catch (error) {
    fail(turn, error);
  }
}

// Ends it: [the text that is shown or stored, and of a refusal its status and message]; undefined
// if it waits for what it has asked for.
export function finishCall() {
  const turn = current;
  try {
    if (!turn.settled) {
      if (native.isWaiting()) return undefined;
      throw new Error(`${turn.call.title} never settles: nothing is left that could settle it`);
    }
    if (turn.failed) throw turn.error;
    const text = turn.call.text(turn.result);
    flush(turn);
    return [text, undefined, undefined];
  } catch (error) {
    if (error instanceof HttpError) return [undefined, error.status, error.message];
    throw explain(error);
  } finally {
    end();
    current = undefined;
  }
}

function refused({ status, message, fields }) {
  return [status, "text/plain; charset=utf-8", `${message}\n`, [...fields], true];
}

// The reply to what failed. Nothing is committed.
function abort({ failed, error, recovered, result }) {
  if (failed) {
    if (error instanceof HttpError) return refused(error);
    throw error;
  }
  const status = statusOf(recovered.error);
  const reply = answer(withStatus(status, result));
  reply[4] = true;
  // What is not the client's fault is the application's, and goes to the log.
  if (status >= 500) reply[5] = [recovered.error];
  return reply;
}
