// Durations and times of expiry, as applications write them: milliseconds, or "30s", "5m", "2h",
// "7d".
import { native } from "sarsen:native";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const WRITTEN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

// The largest time a Date holds (ECMA-262 §21.4.1.1).
const LAST_MS = 8.64e15;

// The milliseconds of a duration; `what` names it in messages.
export function milliseconds(duration, what) {
  let ms = duration;
  if (typeof duration === "string") {
    const parts = WRITTEN.exec(duration);
    ms = parts === null ? NaN : Number(parts[1]) * UNITS[parts[2]];
  }
  if (typeof ms !== "number" || !(ms > 0) || ms > LAST_MS) {
    const got = typeof duration === "string" ? `"${duration}"` : String(duration);
    const expected = `milliseconds above 0, or a text such as "30s", "5m", "2h", "7d"`;
    throw new TypeError(`${what}: expected ${expected}; got ${got}`);
  }
  return Math.ceil(ms);
}

// When something expires, in milliseconds since 1970, by `{ expiresIn }` or `{ expires }`;
// undefined if neither is given. `where()` names the document in messages.
export function expiryOf(options, where) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`${where()}: expected options such as { expiresIn: "30m" }`);
  }
  for (const name of Object.keys(options)) {
    if (name !== "expiresIn" && name !== "expires") {
      throw new TypeError(`${where()}: unknown option ${name}; expected expiresIn or expires`);
    }
  }
  const { expiresIn, expires } = options;
  if (expiresIn !== undefined && expires !== undefined) {
    throw new TypeError(`${where()}: expected expiresIn or expires, got both`);
  }
  if (expiresIn !== undefined) {
    return native.time() + milliseconds(expiresIn, `${where()}: expiresIn`);
  }
  if (expires === undefined) return undefined;
  const ms = expires instanceof Date ? expires.getTime() : NaN;
  if (!(ms >= 0)) throw new TypeError(`${where()}: expires is expected to be a Date since 1970`);
  return ms;
}
