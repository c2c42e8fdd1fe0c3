// HTTP as a test speaks it: to the real server, on its port. A client is like a browser's profile:
// it keeps cookies and follows redirects.
import { native } from "sarsen:native";

const { stringify, parse } = JSON;
const REDIRECTS_MAX = 10;
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

// A reply. `headers` has names in lower case; several fields of one name are joined by ", ", but
// those of set-cookie are a list.
class Reply {
  #body;
  #text;

  constructor([status, , text, body], headers, url, redirects) {
    this.status = status;
    this.headers = headers;
    this.url = url;
    this.redirects = redirects;
    this.#text = text;
    this.#body = body;
  }

  // Not a field, as the body is not of a request.
  text() {
    return this.#text;
  }

  json() {
    const text = this.text();
    try {
      return parse(text);
    } catch {
      const type = this.headers["content-type"] ?? "no content type";
      throw new Error(
        `${this.url}: expected JSON, got ${this.status} ${type}: ${text.slice(0, 200)}`,
      );
    }
  }

  bytes() {
    return new Uint8Array(this.#body.slice(0));
  }
}

class Client {
  #cookies = new Map();
  #redirects;
  #headers;

  constructor({ redirects = true, headers = {} } = {}) {
    this.#redirects = redirects;
    this.#headers = headers;
  }

  // Sends a request. Options: `query`, `headers` (one that is null is left out), `redirects`, and
  // one of `form`, `json`, `text`, `bytes`; with `files` beside a form it is multipart.
  async request(method, path, options = {}) {
    if (!METHODS.includes(method)) {
      throw new TypeError(`request: expected one of ${METHODS.join(", ")}, got ${method}`);
    }
    if (typeof path !== "string" || path[0] !== "/") {
      throw new TypeError(`request: expected a path such as "/notes", got ${String(path)}`);
    }
    const { redirects = this.#redirects } = options;
    const followed = [];
    let request = { method, url: withQuery(path, options.query), ...content(options) };
    for (;;) {
      const reply = this.#send(request, options.headers, followed);
      const next = redirects ? redirected(request, reply) : undefined;
      if (next === undefined) return reply;
      followed.push(request.url);
      if (followed.length > REDIRECTS_MAX) {
        throw new Error(`${path}: more than ${REDIRECTS_MAX} redirects: ${followed.join(", ")}`);
      }
      request = next;
    }
  }

  get(path, options) {
    return this.request("GET", path, options);
  }

  head(path, options) {
    return this.request("HEAD", path, options);
  }

  post(path, options) {
    return this.request("POST", path, options);
  }

  put(path, options) {
    return this.request("PUT", path, options);
  }

  patch(path, options) {
    return this.request("PATCH", path, options);
  }

  delete(path, options) {
    return this.request("DELETE", path, options);
  }

  // The cookies it has: values by name.
  get cookies() {
    this.#forget();
    return Object.fromEntries([...this.#cookies].map(([name, { value }]) => [name, value]));
  }

  #send({ method, url, type, chunks }, own, followed) {
    // A browser says so of a form on the application's own page.
    const fields = { "sec-fetch-site": "same-origin" };
    const cookie = Object.entries(this.cookies).map(([name, value]) => `${name}=${value}`);
    if (cookie.length > 0) fields.cookie = cookie.join("; ");
    if (type !== undefined) fields["content-type"] = type;
    for (const given of [this.#headers, own ?? {}]) {
      for (const [name, value] of Object.entries(given)) fields[name.toLowerCase()] = value;
    }
    const sent = Object.entries(fields).filter(([, value]) => value !== null);
    const received = native.testSend(
      method,
      url,
      sent.flat().map(String),
      chunks ?? [],
    );
    const headers = record(received[1]);
    for (const field of headers["set-cookie"] ?? []) this.#keep(field);
    return new Reply(received, headers, url, [...followed]);
  }

  // RFC 6265 §5.2, for one host and without paths.
  #keep(field) {
    const [pair, ...attributes] = field.split(";").map((part) => part.trim());
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    let ends = Infinity;
    let hasAge = false;
    for (const attribute of attributes) {
      const [key, value = ""] = attribute.split("=");
      if (/^max-age$/i.test(key)) {
        hasAge = true;
        ends = native.testNow() + Number(value) * 1000;
      }
      if (/^expires$/i.test(key) && !hasAge) ends = Date.parse(value);
    }
    this.#cookies.set(name, { value: pair.slice(at + 1), ends });
    this.#forget();
  }

  #forget() {
    const now = native.testNow();
    for (const [name, { ends }] of this.#cookies) {
      if (ends <= now) this.#cookies.delete(name);
    }
  }
}

// A client of its own: cookies are kept in it, and none are shared with another.
export function client(options) {
  return new Client(options);
}

// One request of somebody who has no cookies.
export function request(method, path, options) {
  return new Client().request(method, path, options);
}

function record(flat) {
  const headers = { __proto__: null };
  for (let i = 0; i < flat.length; i += 2) {
    const [name, value] = [flat[i], flat[i + 1]];
    if (name === "set-cookie") (headers[name] ??= []).push(value);
    else headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return headers;
}

// Where a reply sends the client, as a browser goes there (RFC 9110 §15.4).
function redirected(request, { status, headers }) {
  const { location } = headers;
  if (![301, 302, 303, 307, 308].includes(status) || location === undefined) return undefined;
  if (location[0] !== "/" || location.startsWith("//")) {
    throw new Error(`${request.url}: it redirects to ${location}, which is not on this server`);
  }
  const url = location.split("#")[0];
  const isKept = status >= 307 || request.method === "GET" || request.method === "HEAD";
  return isKept ? { ...request, url } : { method: "GET", url };
}

function withQuery(path, query) {
  if (query === undefined) return path;
  return path + (path.includes("?") ? "&" : "?") + encoded(query);
}

function encoded(fields) {
  const pairs = Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((value) => [name, value]),
  );
  const encode = (text) => encodeURIComponent(String(text)).replaceAll("%20", "+");
  return pairs.map((pair) => pair.map(encode).join("=")).join("&");
}

// The media type of a request's body and the chunks that it is made of: strings and bytes.
function content({ form, json, text, bytes, files }) {
  const given = { form, json, text, bytes };
  const named = Object.keys(given).filter((name) => given[name] !== undefined);
  if (named.length > 1) throw new TypeError(`request: expected one of ${named.join(" and ")}`);
  if (files !== undefined) return multipart(form ?? {}, files);
  if (form !== undefined) {
    return { type: "application/x-www-form-urlencoded", chunks: [encoded(form)] };
  }
  if (json !== undefined) return { type: "application/json", chunks: [stringify(json)] };
  if (text !== undefined) return { type: "text/plain; charset=utf-8", chunks: [String(text)] };
  if (bytes !== undefined) return { type: "application/octet-stream", chunks: [buffer(bytes)] };
  return {};
}

// RFC 7578. A file is { name, type, text } or { name, type, bytes }.
function multipart(form, files) {
  const boundary = "sarsen-test-boundary-7MA4YWxkTrZu0gW";
  const escape = (text) =>
    String(text).replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const chunks = [];
  for (const [name, value] of Object.entries(form)) {
    const head = `content-disposition: form-data; name="${escape(name)}"`;
    chunks.push(`--${boundary}\r\n${head}\r\n\r\n${String(value)}\r\n`);
  }
  for (const [name, file] of Object.entries(files)) {
    const { name: filename = name, type = "application/octet-stream", text, bytes } = file;
    const head =
      `content-disposition: form-data; name="${escape(name)}"; ` +
      `filename="${escape(filename)}"\r\ncontent-type: ${type}`;
    const body = bytes === undefined ? String(text ?? "") : buffer(bytes);
    chunks.push(`--${boundary}\r\n${head}\r\n\r\n`, body, "\r\n");
  }
  chunks.push(`--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, chunks };
}

function buffer(bytes) {
  if (bytes instanceof ArrayBuffer) return [...new Uint8Array(bytes)];
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`request: expected a Uint8Array, got ${typeof bytes}`);
  }
  return [...bytes];
}
