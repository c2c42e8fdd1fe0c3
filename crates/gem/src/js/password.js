// Passwords, hashed and verified on threads of their own: argon2id, kept as PHC strings. The
// parameters and the bounds are `aside/password.rs`'s.
import { native } from "sarsen:native";
import { HttpError } from "sarsen:failure";

const { normalize, toWellFormed } = String.prototype;
const { call } = Function.prototype;
const normalized = call.bind(normalize);
const wellFormed = call.bind(toWellFormed);

// The same characters may be typed in several ways; they are compared in one (RFC 8265 §4.2.1).
function text(value, name) {
  if (typeof value === "string") return normalized(wellFormed(value), "NFC");
  throw new TypeError(`${name}: expected the password as a string, got ${typeof value}`);
}

function known(hash, name) {
  if (typeof hash === "string") return hash;
  throw new TypeError(`${name}: expected the hash as a string, got ${typeof hash}`);
}

// The run ends here, and another one comes that has the answer.
function later() {
  return new Promise(() => {});
}

export const password = Object.freeze({
  // The hash to store. A password that is too long is answered 400.
  async hash(password) {
    const given = text(password, "password.hash");
    try {
      native.checkPassword(given);
    } catch (error) {
      throw new HttpError(400, error.message);
    }
    return native.passwordHash(given) ?? later();
  },

  // Whether `password` is the one that `hash` was made of.
  async verify(password, hash) {
    const name = "password.verify";
    return native.passwordVerify(text(password, name), known(hash, name)) ?? later();
  },

  // Whether `hash` was made with other parameters than `password.hash` uses now.
  needsRehash(hash) {
    return native.passwordNeedsRehash(known(hash, "password.needsRehash"));
  },
});
