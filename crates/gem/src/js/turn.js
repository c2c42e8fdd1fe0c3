// One request's turn at the application: what its handler receives, and how it ends. The engine
// calls `run`, then runs pending jobs until none is left, then calls `finish`.
import { Database } from "sarsen:db";
import { begin, check, end, now } from "sarsen:life";
import { native } from "sarsen:native";
import { explain, parse } from "sarsen:persist";
import { Refusal } from "sarsen:refuse";
import { BadRequest, answer } from "sarsen:reply";
import { begin as beginCall, bindTurns } from "sarsen:services";
import { Visitor } from "sarsen:session";

const { getPrototypeOf } = Object;

// Names and values from the wire; the last of equal names wins.
function record(flat) {
  const fields = { __proto__: null };
  for (let i = 0; i < flat.length; i += 2) fields[flat[i]] = flat[i + 1];
  return fields;
}

// The request as it came.
class Request {
  #life;
  #form;

  constructor(life) {
    this.#life = life;
  }

  get method() {
    check(this.#life);
    return native.method();
  }

  // Percent-encoded, as it came.
  get path() {
    check(this.#life);
    return native.path();
  }

  // The value of a header field, or undefined; several of one name are joined by ", ".
  header(name) {
    check(this.#life);
    return native.header(String(name));
  }

  // The body as text; a body that is not UTF-8 is answered 400.
  text() {
    check(this.#life);
    return client(native.text);
  }

  // The body as JSON; anything else is answered 400.
  json() {
    const text = this.text();
    return client(() => parse(text));
  }

  // The fields of a form (application/x-www-form-urlencoded); anything else is answered 400.
  form() {
    check(this.#life);
    this.#form ??= record(client(native.form));
    return this.#form;
  }
}

// Runs what decodes what the client sent: what does not decode is the client's fault.
function client(read) {
  try {
    return read();
  } catch (error) {
    throw isMalformed(error) ? new BadRequest(error.message) : error;
  }
}

// JSON.parse throws a SyntaxError, the natives a plain Error. The rest is the engine's: without
// heap an InternalError or null, without stack a RangeError.
function isMalformed(error) {
  if (error === null) return false;
  const prototype = getPrototypeOf(error);
  return prototype === SYNTAX_ERROR || prototype === ERROR;
}

const SYNTAX_ERROR = SyntaxError.prototype;
const ERROR = Error.prototype;

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
    current.query ??= record(client(native.query));
    return current.query;
  }

  get request() {
    check(this.#life);
    current.request ??= new Request(this.#life);
    return current.request;
  }

  // Milliseconds since 1970, the same for the whole request; Date.now() gives it too.
  get time() {
    check(this.#life);
    return native.time();
  }
}

bindTurns(() => new Turn(now()));

// A proxy asks what it stands for; `db` stands for nothing, it only has traps.
const NOTHING = Object.freeze({ __proto__: null });

// Starts `handler`. It need not have ended when this returns: an async one goes on in jobs.
export function run(handler) {
  const life = begin();
  const turn = { settled: false, failed: false };
  current = turn;
  try {
    const result = handler(new Turn(life));
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

function settle(turn, result) {
  if (turn.settled) return;
  turn.settled = true;
  turn.result = result;
}

function fail(turn, error) {
  if (turn.settled) return;
  turn.settled = true;
  turn.failed = true;
  turn.error = error;
}

// Ends the turn, and gives the engine its answer; undefined if it waits for what it has asked for.
export function finish() {
  const turn = current;
  try {
    if (!turn.settled) {
      if (native.isWaiting()) return undefined;
      throw new Error("the handler's promise never settles: nothing is left that could settle it");
    }
    if (turn.failed) return refuse(turn.error);
    // The reply first: making it may call toJSON, and so change documents.
    const reply = answer(turn.result);
    flush(turn);
    return reply;
  } catch (error) {
    // Of a service that was asked about what the handler changed.
    if (error instanceof Refusal) return refuse(error);
    throw error;
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

// Ends it: [the text that is shown or stored, and of a refusal its status and message].
export function finishCall() {
  const turn = current;
  try {
    if (!turn.settled) {
      if (native.isWaiting()) {
        throw new Error(`${turn.call.title} awaits what only handlers of requests may await`);
      }
      throw new Error(`${turn.call.title} never settles: nothing is left that could settle it`);
    }
    if (turn.failed) throw turn.error;
    const text = turn.call.text(turn.result);
    flush(turn);
    return [text, undefined, undefined];
  } catch (error) {
    if (error instanceof Refusal) return [undefined, error.status, error.message];
    throw explain(error);
  } finally {
    end();
    current = undefined;
  }
}

function refuse(error) {
  if (error instanceof Refusal) {
    return [error.status, "text/plain; charset=utf-8", `${error.message}\n`, undefined, true];
  }
  if (!(error instanceof BadRequest)) throw explain(error);
  return [400, "text/plain; charset=utf-8", `${error.message}\n`, undefined, true];
}
