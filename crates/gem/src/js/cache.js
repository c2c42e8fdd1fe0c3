// `cache`: values that may be gone at any time, shared by all gems and with memcached clients. It
// is no part of the transaction. What only writes takes effect when the request has committed;
// what answers by what it found takes effect at once, and once however often the handler runs.
import { expiryOf, milliseconds } from "sarsen:durations";
import { check } from "sarsen:life";
import { native } from "sarsen:native";
import { decode, encode } from "sarsen:persist";

// As they are now: an application may replace its globals.
const { ArrayBuffer, Error, Function, Number, Object, Promise, TypeError, Uint8Array } = globalThis;

const base64Of = Function.prototype.call.bind(Uint8Array.prototype.toBase64);

const STALE = "1m";

export class Cache {
  #life;

  constructor(life) {
    this.#life = life;
  }

  // The value that was stored as JSON, or undefined.
  get(key) {
    const text = native.cacheText(this.#key("get", key));
    return text === undefined ? undefined : valueOf(key, text);
  }

  // What is stored as a text, or undefined.
  getText(key) {
    return native.cacheText(this.#key("getText", key));
  }

  // What is stored as a Uint8Array, or undefined.
  getBytes(key) {
    return native.cacheBytes(this.#key("getBytes", key));
  }

  // { value, cas } of what is stored as JSON, or undefined: `cas` is for cache.cas.
  gets(key) {
    const found = native.cacheGets(this.#key("gets", key));
    return found === undefined ? undefined : { value: valueOf(key, found[0]), cas: found[1] };
  }

  // Has a value stored when the request commits: bytes as they are, anything else as JSON.
  set(key, value, options = {}) {
    const where = this.#where("set", key);
    native.cacheSet(key, ...stored(value, where), expiryOf(options, where));
  }

  // Removes it when the request commits.
  delete(key) {
    native.cacheDelete(this.#key("delete", key));
  }

  // Stores a value at once if there is none. Whether there was none.
  add(key, value, options = {}) {
    const where = this.#where("add", key);
    return native.cacheAdd(key, ...stored(value, where), expiryOf(options, where));
  }

  // Stores a value at once if nobody has since `gets` gave `cas`. Whether nobody has.
  cas(key, value, cas, options = {}) {
    const where = this.#where("cas", key);
    if (typeof cas !== "string") {
      throw new TypeError(`${where()}: expected the cas that gets gave, got ${typeof cas}`);
    }
    return native.cacheCas(key, ...stored(value, where), cas, expiryOf(options, where));
  }

  // Adds to a number at once and gives the sum; a difference stops at 0. undefined if there is no
  // number, unless `initial` is to be stored then.
  incr(key, delta = 1, { initial, ...options } = {}) {
    const where = this.#where("incr", key);
    checkWhole(delta, where, "a whole number to add");
    if (initial !== undefined) checkWhole(initial, where, "a whole number as initial", 0);
    return native.cacheIncrement(key, delta, initial, expiryOf(options, where));
  }

  // The other way.
  decr(key, delta = 1, options = {}) {
    checkWhole(delta, this.#where("decr", key), "a whole number to subtract");
    return this.incr(key, -delta, options);
  }

  // Changes at once when a value expires; without options it does not. Whether there is one.
  touch(key, options = {}) {
    const where = this.#where("touch", key);
    return native.cacheTouch(key, expiryOf(options, where));
  }

  // The value; if there is none, what `compute` gives, which is stored for `ttl` when the request
  // commits. One request computes: meanwhile, and for `stale` after its time, others get the old
  // value, and those that find none wait for it a while.
  async fetch(key, ttl, compute, { stale = STALE, ...others } = {}) {
    const where = this.#where("fetch", key);
    const unknown = Object.keys(others)[0];
    if (unknown !== undefined) throw new TypeError(`${where()}: there is no option ${unknown}`);
    if (typeof compute !== "function") {
      throw new TypeError(`${where()}: expected a function, got ${typeof compute}`);
    }
    const life_ms = milliseconds(ttl, `${where()}: ttl`);
    const stale_ms = stale === 0 ? 0 : milliseconds(stale, `${where()}: stale`);
    const found = native.cacheFetch(key, stale_ms);
    if (typeof found === "string") return valueOf(key, found);
    // Another run goes on when it is there.
    if (found === false) return new Promise(() => {});
    if (found === null) return compute();
    try {
      const value = await compute();
      native.cacheSet(key, encode(value, where), false, native.time() + life_ms + stale_ms);
      return value;
    } catch (error) {
      native.cacheAbandon(key);
      throw error;
    }
  }

  #key(call, key) {
    check(this.#life);
    if (typeof key === "string") return key;
    throw new TypeError(`cache.${call}: expected a key, which is a string; got ${typeof key}`);
  }

  #where(call, key) {
    this.#key(call, key);
    return () => `cache.${call}("${key}")`;
  }
}

function checkWhole(number, where, what, least = Number.MIN_SAFE_INTEGER) {
  if (Number.isSafeInteger(number) && number >= least) return;
  throw new TypeError(`${where()}: expected ${what}, got ${String(number)}`);
}

// What is stored, and whether that is base64.
function stored(value, where) {
  if (value instanceof Uint8Array) return [base64Of(value), true];
  if (value instanceof ArrayBuffer) return [base64Of(new Uint8Array(value)), true];
  return [encode(value, where), false];
}

function valueOf(key, text) {
  try {
    return decode(text);
  } catch {
    throw new Error(`cache "${key}": it holds no JSON; read it by getText or getBytes`);
  }
}
