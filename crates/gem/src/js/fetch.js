// `fetch`, as far as tasks need it of what browsers have (fetch.spec.whatwg.org). The request is
// made by threads beside the gems (`aside/fetch`), and the task runs again with the answer.
import { milliseconds } from "sarsen:durations";
import { native } from "sarsen:native";

const OPTIONS = ["method", "headers", "body", "timeout", "redirect"];
const REDIRECTS = ["follow", "manual", "error"];
const TIMEOUT = "30s";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

// fetch(url, { method, headers, body, timeout, redirect })
export async function fetch(url, options = {}) {
  if (!native.inTask()) {
    throw new Error(
      "fetch: only tasks ask other servers, since a request may run several times before it " +
        "commits and must not wait; start a task and fetch there: task(name, payload), see " +
        "docs/tasks.md",
    );
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(
      `fetch: there is no option "${unknown}"; it can be ${OPTIONS.join(", ")}`,
    );
  }
  const { method = "GET", headers = {}, timeout = TIMEOUT, redirect = "follow" } = options;
  if (typeof method !== "string" || !TOKEN.test(method)) {
    throw new TypeError(`fetch: expected a method such as "POST", got ${String(method)}`);
  }
  if (!REDIRECTS.includes(redirect)) {
    throw new TypeError(`fetch: redirect is one of ${REDIRECTS.join(", ")}; got ${redirect}`);
  }
  const fields = [];
  for (const [name, value] of headers instanceof Map ? headers : Object.entries(headers)) {
    fields.push(String(name), String(value));
  }
  const [body, type] = content(options.body);
  const isType = (name, place) => place % 2 === 0 && name.toLowerCase() === "content-type";
  if (type !== undefined && !fields.some(isType)) fields.push("content-type", type);
  const limit = milliseconds(timeout, "fetch: timeout");
  const isBytes = typeof body !== "string";
  const sent = isBytes ? body.toBase64() : body;
  const target = [method.toUpperCase(), String(url), redirect];
  const answer = native.fetch(target, fields, sent, isBytes, limit);
  // The run ends here, and another one comes that has the answer.
  if (answer === undefined) return new Promise(() => {});
  return new Answer(answer);
}

Object.defineProperty(globalThis, "fetch", { value: fetch, writable: true, configurable: true });

// What is sent, and what it is.
function content(body) {
  if (body === undefined || body === null) return ["", undefined];
  if (typeof body === "string") return [body, "text/plain;charset=UTF-8"];
  if (body instanceof Uint8Array) return [body, undefined];
  if (body instanceof ArrayBuffer) return [new Uint8Array(body), undefined];
  if (typeof body === "object") return [JSON.stringify(body), "application/json"];
  throw new TypeError(`fetch: expected a body of text, bytes or an object, got ${typeof body}`);
}

// Header fields by their names, in whatever case.
class Fields extends Map {
  get(name) {
    return super.get(String(name).toLowerCase());
  }

  has(name) {
    return super.has(String(name).toLowerCase());
  }
}

class Answer {
  #text;
  #bytes;

  constructor([status, flat, url, text, bytes]) {
    this.status = status;
    this.ok = status >= 200 && status < 300;
    this.url = url;
    this.headers = new Fields();
    for (let i = 0; i < flat.length; i += 2) {
      const before = this.headers.get(flat[i]);
      this.headers.set(flat[i], before === undefined ? flat[i + 1] : `${before}, ${flat[i + 1]}`);
    }
    this.#text = text;
    this.#bytes = bytes;
  }

  // As UTF-8; what is not has U+FFFD in its place.
  text() {
    return this.#text;
  }

  json() {
    return JSON.parse(this.text());
  }

  bytes() {
    this.#bytes ??= native.bytesOfText(this.#text);
    return new Uint8Array(this.#bytes);
  }
}
