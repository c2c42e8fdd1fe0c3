// What a handler may return, and the reply it becomes.
import { fieldsOf } from "sarsen:failure";
import { Html } from "sarsen:html";
import { native } from "sarsen:native";
import { idOf, isStored } from "sarsen:stored";

const HTML = "text/html; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";
const BYTES = "application/octet-stream";
const { stringify } = JSON;
const { freeze, getPrototypeOf } = Object;

// Whether `reply` below made a value.
let isReply;

// A reply that was not made by an application, of values that need no check.
let make;

// What was checked stays as it was checked: a Reply is frozen, and nothing else passes for one.
class Reply {
  #made;

  static {
    isReply = (value) => typeof value === "object" && value !== null && #made in value;
    make = (...given) => new Reply(...given);
    // Through it a handler could make one that was not checked.
    delete this.prototype.constructor;
  }

  // Without a status it has the one that its place gives it: 200, or that of an error.
  constructor(status, type, body, fields) {
    this.status = status;
    this.type = type;
    this.body = body;
    this.fields = freeze(fields);
    freeze(this);
  }
}

export function reply({ status: code, headers = {}, body, type } = {}) {
  if (code !== undefined) status("reply", code);
  const fields = fieldsOf(headers);
  if (type === undefined) return new Reply(code, undefined, body, fields);
  if (fields.includes("content-type")) {
    throw new TypeError("reply: expected `type` or the header content-type, got both");
  }
  const mediaType = String(type);
  native.checkField("content-type", mediaType);
  return new Reply(code, mediaType, body, fields);
}

// Checks a status.
export function status(call, code) {
  if (Number.isInteger(code) && code >= 200 && code <= 599) return code;
  throw new RangeError(`${call}: expected a status from 200 to 599, got ${String(code)}`);
}

export function redirect(url, status = 303) {
  if (![301, 302, 303, 307, 308].includes(status)) {
    throw new RangeError(`redirect: expected 301, 302, 303, 307 or 308, got ${String(status)}`);
  }
  return reply({ status, headers: { location: url } });
}

// A value as JSON, as it is now: later changes of it are not in the reply.
export function json(value, given = {}) {
  const body = stringify(value);
  if (body === undefined) throw new TypeError(`json: a ${typeof value} is no JSON value`);
  return reply({ type: typed(given, JSON_TYPE), ...given, body });
}

export function text(body, given = {}) {
  if (typeof body !== "string") {
    throw new TypeError(`text: expected a string, got ${typeof body}`);
  }
  return reply({ type: typed(given, TEXT), ...given, body });
}

// Bytes as they are: a Uint8Array or an ArrayBuffer.
export function bytes(body, given = {}) {
  if (!isBytes(body)) {
    throw new TypeError(`bytes: expected a Uint8Array or an ArrayBuffer, got ${typeof body}`);
  }
  return reply({ ...given, body });
}

// The media type, unless the headers have one.
function typed({ headers = {} }, type) {
  return Object.keys(headers).some((name) => name.toLowerCase() === "content-type")
    ? undefined
    : type;
}

function isBytes(value) {
  return value instanceof Uint8Array || value instanceof ArrayBuffer;
}

// Bytes on their way out: base64, in a list, so that it is told from text.
function encoded(body) {
  return [apply(toBase64, body instanceof ArrayBuffer ? new Uint8Array(body) : body, [])];
}

const { apply } = Reflect;
const { toBase64 } = Uint8Array.prototype;

// What JSON.stringify would make `{}` of.
const LOSSY = [
  Map, Set, WeakMap, WeakSet, Promise, RegExp, Error, DataView, getPrototypeOf(Uint8Array),
];

// A body and the media type it has when the handler does not name one. Lone surrogates, which
// UTF-8 cannot hold, become U+FFFD as in a browser.
function represent(body) {
  if (body instanceof Html) return [HTML, body.text.toWellFormed()];
  if (typeof body === "string") return [TEXT, body.toWellFormed()];
  if (body === undefined || body === null) return [undefined, ""];
  if (isBytes(body)) return [BYTES, encoded(body)];
  // A number, which is told from all else that a body may be.
  if (isStored(body)) return [body.mediaType, idOf(body)];
  const wrong = typeof body === "object" ? LOSSY.find((type) => body instanceof type) : Object;
  const text = wrong === undefined ? stringify(body) : undefined;
  if (text === undefined) {
    const found = typeof body === "object" && wrong ? wrong.name || "typed array" : typeof body;
    throw new TypeError(
      "expected html, a string, an object, an array, a Uint8Array, reply(), redirect() or " +
        `nothing as the handler's result; got ${found === "Error" ? "an" : "a"} ${found}`,
    );
  }
  return [JSON_TYPE, text];
}

// What the engine reads: [status, media type, body, header fields, whether to abort].
export function answer(result) {
  // Most results are pages.
  if (result instanceof Html) return [200, HTML, result.text.toWellFormed(), undefined, false];
  if (result === undefined || result === null) return [204, undefined, "", undefined, false];
  if (isReply(result)) return answerReply(result);
  const [type, body] = represent(result);
  return [200, type, body, undefined, false];
}

function answerReply({ status, type, body, fields }) {
  const [ownType, text] = represent(body);
  const named = fields.includes("content-type");
  return [status ?? 200, type ?? (named ? undefined : ownType), text, fields, false];
}

// The result with this status, unless it is a reply that has its own.
export function withStatus(status, result) {
  if (!isReply(result)) return make(status, undefined, result, []);
  if (result.status !== undefined) return result;
  return make(status, result.type, result.body, result.fields.slice());
}

// An answer of the server's own as a result. Without a body there is no media type.
export function replyOf([status, type, body, fields]) {
  return make(status, type, body === "" ? undefined : body, fields);
}

// A header field to be set: see `context.header`.
export function header(name, value, { append = false } = {}, isLate = false) {
  const text = String(value);
  native.checkField(name, text);
  const lower = name.toLowerCase();
  return { name: lower, value: text, append: append || lower === "set-cookie", isLate };
}

// Sets the header fields and the status that were set beside the result. What was set before there
// was one gives way to what the result says itself; what was set later replaces that.
export function decorate(parts, { fields = [], status, result }) {
  const hasOwn = isReply(result) && result.status !== undefined;
  if (status !== undefined && (status.isLate || !hasOwn) && !parts[4]) {
    parts[0] = status.code;
  }
  const own = parts[3] ?? [];
  const all = own.slice();
  if (parts[1] !== undefined) all.push("content-type", parts[1]);
  const hasOwnType = isReply(result) && all.includes("content-type");
  for (const { name, value, append, isLate } of fields) {
    const isOwn = name === "content-type" ? hasOwnType : own.includes(name);
    if (!append) {
      if (isOwn && !isLate) continue;
      remove(all, name);
    }
    all.push(name, value);
  }
  parts[1] = undefined;
  parts[3] = all;
}

function remove(fields, name) {
  for (let i = fields.length - 2; i >= 0; i -= 2) if (fields[i] === name) fields.splice(i, 2);
}
