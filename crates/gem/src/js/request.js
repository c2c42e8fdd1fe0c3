// The request as it came: what `context.request` is.
import { check } from "sarsen:life";
import { HttpError, client } from "sarsen:failure";
import { native } from "sarsen:native";
import { parse } from "sarsen:persist";

// Names and values from the wire; the last of equal names wins.
export function record(flat) {
  const fields = { __proto__: null };
  for (let i = 0; i < flat.length; i += 2) fields[flat[i]] = flat[i + 1];
  return fields;
}

// All values of one name.
function all(flat, name) {
  const values = [];
  for (let i = 0; i < flat.length; i += 2) if (flat[i] === name) values.push(flat[i + 1]);
  return values;
}

// The fields of the query.
export function query() {
  return record(client(native.query));
}

// A file that came in a form.
class File {
  #life;
  #place;
  #bytes;

  constructor(life, place, name, type, size) {
    this.#life = life;
    this.#place = place;
    this.name = name;
    this.type = type;
    this.size = size;
  }

  // What is in it, as a Uint8Array.
  get bytes() {
    check(this.#life);
    this.#bytes ??= native.file(this.#place);
    return this.#bytes;
  }

  // What is in it, as text; a file that is not UTF-8 is answered 400.
  text() {
    check(this.#life);
    return client(() => native.fileText(this.#place));
  }
}

export class Request {
  #life;
  #fields;
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

  // All header fields, by their names in lower case.
  get headers() {
    check(this.#life);
    return record(native.headers());
  }

  // All values of a field of the query; an empty list if there is none.
  queryAll(name) {
    check(this.#life);
    return all(client(native.query), String(name));
  }

  // The body as text. One that is not UTF-8 is answered 400, one that says so 415.
  text() {
    check(this.#life);
    return client(native.text);
  }

  // The body as JSON. Anything else is answered 400, another media type 415.
  json() {
    check(this.#life);
    const text = client(native.json);
    return client(() => parse(text), "expected a body that is JSON: ");
  }

  // The body as it came, as a Uint8Array.
  bytes() {
    check(this.#life);
    return native.body();
  }

  // The fields of a form (application/x-www-form-urlencoded or multipart/form-data), the last of
  // equal names; what is a file there is a file here. What is none is answered 400 or 415.
  form() {
    this.#form ??= record(this.#formFields());
    return this.#form;
  }

  // All values of a field of the form; an empty list if there is none.
  formAll(name) {
    return all(this.#formFields(), String(name));
  }

  #formFields() {
    check(this.#life);
    if (this.#fields !== undefined) return this.#fields;
    const fields = [];
    const flat = client(native.form);
    for (let i = 0; i < flat.length; i += 2) {
      const value = flat[i + 1];
      const isFile = typeof value === "object";
      fields.push(flat[i], isFile ? new File(this.#life, ...value) : value);
    }
    this.#fields = fields;
    return fields;
  }
}
