// The visitor's session in one run: the object that the handler changes, and what it may do with
// it as a whole. How long it lives, and its cookie, are `turn/session.rs`'s.
import { native } from "sarsen:native";
import { decode, encode } from "sarsen:persist";

const { defineProperty, keys } = Object;
const { isArray } = Array;

const MEMBER = { writable: true, enumerable: true, configurable: true };

// The member in which messages wait for the next page.
const FLASHES = "_flashes";

export class Visitor {
  constructor() {
    this.text = native.session() ?? "{}";
    // The same object for the whole run: handlers keep it in variables.
    this.session = decode(this.text);
  }

  // Stages what the handler changed.
  flush() {
    const text = encode(this.session, () => "session");
    if (text !== this.text) native.saveSession(text);
  }

  // A new id, under which the session holds `data` and nothing else.
  login(data = {}) {
    if (typeof data !== "object" || data === null || isArray(data)) {
      throw new TypeError(`login: expected an object for the session to hold, got ${shown(data)}`);
    }
    // `data` may hold the session, or be it.
    const kept = { ...data };
    this.clear();
    // Defined, not assigned: a client may have sent a member that is called __proto__.
    for (const name of keys(kept)) {
      defineProperty(this.session, name, { ...MEMBER, value: kept[name] });
    }
    this.renew();
  }

  // No session: the visitor's cookie is deleted, unless something is put into the session after.
  logout() {
    this.clear();
    native.endSession();
    this.text = "{}";
  }

  // A new id for what the session holds.
  renew() {
    native.endSession();
    // It is stored, whatever it holds.
    this.text = undefined;
  }

  // Messages outlive the session that they were written to.
  clear() {
    const { session } = this;
    for (const name of keys(session)) {
      if (name !== FLASHES) delete session[name];
    }
  }

  flash(message, kind) {
    if (typeof message !== "string" || typeof kind !== "string") {
      throw new TypeError(`flash: expected texts, got ${shown(message)}, ${shown(kind)}`);
    }
    if (message.length + kind.length > native.flashCharsMax) {
      throw new RangeError(`flash: expected at most ${native.flashCharsMax} characters`);
    }
    const waiting = this.session[FLASHES];
    const messages = isArray(waiting) ? waiting : (this.session[FLASHES] = []);
    messages.push({ message, kind });
    if (messages.length > native.flashesMax) messages.shift();
  }

  // The messages that wait, each shown once.
  flashes() {
    const { [FLASHES]: messages } = this.session;
    if (messages === undefined) return [];
    delete this.session[FLASHES];
    return isArray(messages) ? messages : [];
  }
}

function shown(value) {
  return value === null ? "null" : isArray(value) ? "an array" : typeof value;
}
