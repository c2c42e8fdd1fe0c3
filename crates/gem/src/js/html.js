// The `html` template tag. Everything put into a template is escaped, for text and for attribute
// values in quotes, unless it is the result of `html` or `raw` itself.

import { native } from "sarsen:native";

// As they are now: an application may replace its globals.
const { Array, Promise, String, TypeError } = globalThis;

// Text that is already HTML. Documents, forms and sessions hold plain data, so nothing that a
// visitor sends can be one of these.
export class Html {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

const SPECIAL = /[&<>"']/;
const EACH_SPECIAL = /[&<>"']/g;
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function escape(text) {
  // Most values need no escaping, and the test is much cheaper than the replacement.
  if (!SPECIAL.test(text)) return text;
  // A call for each character costs more than all else; half a pair is not in what Rust can hold.
  if (text.isWellFormed()) return native.escape(text);
  return text.replace(EACH_SPECIAL, (char) => ENTITIES[char]);
}

function show(value) {
  switch (typeof value) {
    case "string":
      return escape(value);
    case "number":
    case "bigint":
      return String(value);
    case "boolean":
      return value ? "true" : "";
    case "undefined":
      return "";
    case "object":
      return showObject(value);
    default:
      throw new TypeError(`html: a ${typeof value} cannot be shown; call it, or name it`);
  }
}

function showObject(value) {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) {
    let text = "";
    for (const item of value) text += show(item);
    return text;
  }
  if (value instanceof Promise) {
    throw new TypeError("html: a promise cannot be shown; await it first");
  }
  return escape(String(value));
}

export function html(strings, ...values) {
  let text = strings[0];
  for (let i = 0; i < values.length; i++) text += show(values[i]) + strings[i + 1];
  return new Html(text);
}

// Text that is HTML on purpose. Never give it anything a visitor wrote.
export function raw(text) {
  return new Html(String(text));
}
