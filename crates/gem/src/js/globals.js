// Replaces what would make two runs of one handler differ: the clock and Math.random come from the
// request. And gives `console`, which writes to Sarsen's log.
import { native } from "sarsen:native";

const SystemDate = globalThis.Date;
const { stringify } = JSON;

function RequestDate(...given) {
  if (new.target === undefined) return new SystemDate(native.time()).toString();
  return Reflect.construct(SystemDate, given.length === 0 ? [native.time()] : given, new.target);
}

function define(target, members) {
  for (const name of Object.keys(members)) {
    const value = members[name];
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  }
}

define(RequestDate, {
  name: "Date",
  length: 7,
  now: () => native.time(),
  parse: SystemDate.parse,
  UTC: SystemDate.UTC,
});
RequestDate.prototype = SystemDate.prototype;
define(SystemDate.prototype, { constructor: RequestDate });
define(globalThis, { Date: RequestDate });
define(Math, { random: () => native.random() });
delete globalThis.performance;

// JSON has neither dates nor bytes. It writes dates as text, and here bytes, too: as base64 (RFC
// 4648 §4), not as an object with a member for each. In documents both have forms that are read
// back.
const { apply } = Reflect;
const { toBase64 } = Uint8Array.prototype;
define(Uint8Array.prototype, {
  toJSON() {
    return apply(toBase64, this, []);
  },
});
define(ArrayBuffer.prototype, {
  toJSON() {
    return apply(toBase64, new Uint8Array(this), []);
  },
});

function text(value) {
  try {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value}\n${value.stack}`;
    if (typeof value === "object") return stringify(value) ?? String(value);
    return String(value);
  } catch (error) {
    return `[cannot be shown: ${error?.message}]`;
  }
}

function logger(level) {
  return (...values) => native.log(level, values.map(text).join(" "));
}

define(globalThis, {
  console: Object.freeze({
    debug: logger("debug"),
    log: logger("info"),
    info: logger("info"),
    warn: logger("warn"),
    error: logger("error"),
  }),
});

// What a handler for other servers returns. Here it would be taken for an object to send as JSON.
function noResponse() {
  throw new TypeError(
    "there is no Response here; return json(value), text(string), html`...` or " +
      "reply({ status, headers, body })",
  );
}

define(noResponse, { name: "Response", json: noResponse, redirect: noResponse });
define(globalThis, { Response: noResponse });
