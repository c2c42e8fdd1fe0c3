// What a handler throws to end its request with a status, and what else may be thrown.
import { native } from "sarsen:native";

const { getPrototypeOf } = Object;

const TEXTS = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  410: "Gone",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
};

// The client's fault. Unless it is caught, the reply has this status and the message as text, and
// nothing is committed.
export class HttpError extends Error {
  constructor(status, message = TEXTS[status] ?? `status ${status}`, { headers = {} } = {}) {
    if (!Number.isInteger(status) || status < 400 || status > 499) {
      throw new RangeError(
        `HttpError: expected a status from 400 to 499, got ${String(status)}; a fault of the ` +
          "application's own is any other error",
      );
    }
    super(String(message).toWellFormed());
    this.status = status;
    this.fields = fieldsOf(headers);
  }
}

HttpError.prototype.name = "HttpError";

// Header fields, checked: names in lower case and values in turn.
export function fieldsOf(headers) {
  const fields = [];
  for (const name of Object.keys(headers)) {
    const values = Array.isArray(headers[name]) ? headers[name] : [headers[name]];
    for (const value of values) {
      const text = String(value);
      native.checkField(name, text);
      fields.push(name.toLowerCase(), text);
    }
  }
  return fields;
}

// The status of the reply to an error that was thrown.
export function statusOf(error) {
  return error instanceof HttpError ? error.status : 500;
}

// Whether an error is the engine's own: without heap it throws null or an InternalError. Whoever
// handles one may not be able to.
export function isEngines(error) {
  return error === null || error instanceof InternalError;
}

// Runs what decodes what the client sent: what does not decode is the client's fault. `expected`
// begins the message.
export function client(read, expected = "") {
  try {
    return read();
  } catch (error) {
    throw isMalformed(error) ? new HttpError(error.status ?? 400, expected + error.message) : error;
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
