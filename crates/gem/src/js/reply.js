// What a handler may return, and the reply it becomes.
import { native } from "sarsen:native";
import { Html } from "sarsen:html";

const HTML = "text/html; charset=utf-8";
const TEXT = "text/plain; charset=utf-8";
const JSON_TYPE = "application/json";
const { stringify } = JSON;
const { freeze } = Object;

// The client's fault: unless the handler catches it, the reply is 400 and nothing is committed.
export class BadRequest extends Error {}

// Whether `reply` below made a value.
let isReply;

// What was checked stays as it was checked: a Reply is frozen, and nothing else passes for one.
class Reply {
  #made;

  static {
    isReply = (value) => typeof value === "object" && value !== null && #made in value;
    // Through it a handler could make one that was not checked.
    delete this.prototype.constructor;
  }

  constructor(status, type, body, fields) {
    this.status = status;
    this.type = type;
    this.body = body;
    this.fields = freeze(fields);
    freeze(this);
  }
}

export function reply({ status = 200, headers = {}, body, type } = {}) {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new RangeError(`reply: expected a status from 200 to 599, got ${String(status)}`);
  }
  const fields = [];
  for (const name of Object.keys(headers)) {
    const values = Array.isArray(headers[name]) ? headers[name] : [headers[name]];
    for (const value of values) field(fields, name, String(value));
  }
  if (type === undefined) return new Reply(status, undefined, body, fields);
  if (fields.includes("content-type")) {
    throw new TypeError("reply: expected `type` or the header content-type, got both");
  }
  const mediaType = String(type);
  native.checkField("content-type", mediaType);
  return new Reply(status, mediaType, body, fields);
}

function field(fields, name, value) {
  native.checkField(name, value);
  fields.push(name.toLowerCase(), value);
}

export function redirect(url, status = 303) {
  if (![301, 302, 303, 307, 308].includes(status)) {
    throw new RangeError(`redirect: expected 301, 302, 303, 307 or 308, got ${String(status)}`);
  }
  return reply({ status, headers: { location: url } });
}

// A body and the media type it has when the handler does not name one. Lone surrogates, which
// UTF-8 cannot hold, become U+FFFD as in a browser.
function represent(body) {
  if (body instanceof Html) return [HTML, body.text.toWellFormed()];
  if (typeof body === "string") return [TEXT, body.toWellFormed()];
  if (body === undefined || body === null) return [undefined, ""];
  const text = typeof body === "object" ? stringify(body) : undefined;
  if (text === undefined) {
    throw new TypeError(
      `expected html, a string, an object, an array, reply(), redirect() or nothing as the ` +
        `handler's result; got a ${typeof body}`,
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
  return [status, type ?? (named ? undefined : ownType), text, fields, false];
}
