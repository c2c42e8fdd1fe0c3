// Cookies as handlers get and set them. What may be set is checked by `cookie.rs`, and signatures
// are made and compared by `turn/cookies.rs`.
import { milliseconds } from "sarsen:durations";
import { check } from "sarsen:life";
import { native } from "sarsen:native";

const { keys } = Object;

// What each option has to be.
const TYPES = {
  __proto__: null,
  path: "string",
  domain: "string",
  httpOnly: "boolean",
  secure: "boolean",
  sameSite: "string",
  signed: "boolean",
};

export class Cookies {
  #life;

  constructor(life) {
    this.#life = life;
  }

  // The value that came with the request, or undefined. With { signed: true } a cookie counts only
  // if its signature is ours.
  get(name, options = {}) {
    check(this.#life);
    const { signed = false } = checked("cookies.get", options, ["signed"]);
    return native.cookie(textOf("cookies.get", name), signed);
  }

  // Has the reply set a cookie. It is for all paths, hidden from scripts, not sent with other
  // sites' requests but links, and secure if the request came by https, unless `options` say
  // otherwise.
  set(name, value, options = {}) {
    const call = "cookies.set";
    check(this.#life);
    const { maxAge, ...others } = checked(call, options, [...keys(TYPES), "maxAge"]);
    const age = maxAge === undefined ? undefined : milliseconds(maxAge, `${call}: maxAge`) / 1000;
    native.setCookie({
      path: "/",
      httpOnly: true,
      sameSite: "Lax",
      signed: false,
      ...others,
      maxAge: age,
      name: textOf(call, name),
      value: textOf(call, value),
    });
  }

  // Has the reply delete a cookie that was set with this path and domain.
  delete(name, options = {}) {
    const call = "cookies.delete";
    check(this.#life);
    const place = checked(call, options, ["path", "domain", "secure"]);
    native.setCookie({
      path: "/",
      httpOnly: true,
      sameSite: "Lax",
      signed: false,
      ...place,
      maxAge: 0,
      name: textOf(call, name),
      value: "",
    });
  }
}

function textOf(call, value) {
  if (typeof value === "string") return value.toWellFormed();
  throw new TypeError(`${call}: expected a string, got ${typeof value}`);
}

// The options that are given, if they are of `known` ones and of their types.
function checked(call, options, known) {
  const given = {};
  for (const name of keys(options)) {
    const value = options[name];
    if (value === undefined) continue;
    if (!known.includes(name)) {
      throw new TypeError(`${call}: unknown option ${name}; there are ${known.join(", ")}`);
    }
    if (name in TYPES && typeof value !== TYPES[name]) {
      throw new TypeError(`${call}: ${name} is a ${TYPES[name]}; got a ${typeof value}`);
    }
    given[name] = value;
  }
  return given;
}
