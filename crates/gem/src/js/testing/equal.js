// Whether two values are the same in structure. Values in circles are no business of tests here:
// what the server gives and stores has none.
const { isArray } = Array;
const { getPrototypeOf, is, keys } = Object;

function isObject(value) {
  return typeof value === "object" && value !== null;
}

// Those that are not undefined.
function members(value) {
  return keys(value).filter((key) => value[key] !== undefined);
}

// Values that are more than their members; `undefined` if these are none.
function sameSpecial(a, b) {
  if (a instanceof Date && b instanceof Date) return is(a.getTime(), b.getTime());
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Map && b instanceof Map) return equal([...a], [...b]);
  if (a instanceof Set && b instanceof Set) return equal([...a], [...b]);
  const special = [Date, RegExp, Map, Set];
  if (special.some((type) => a instanceof type || b instanceof type)) return false;
  if (ArrayBuffer.isView(a) !== ArrayBuffer.isView(b)) return false;
  if (ArrayBuffer.isView(a) && getPrototypeOf(a) !== getPrototypeOf(b)) return false;
  return undefined;
}

export function equal(a, b) {
  if (is(a, b)) return true;
  if (!isObject(a) || !isObject(b) || isArray(a) !== isArray(b)) return false;
  const special = sameSpecial(a, b);
  if (special !== undefined) return special;
  if (isArray(a)) return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  const own = members(a);
  return own.length === members(b).length && own.every((key) => equal(a[key], b[key]));
}

// Whether `value` has at least what `part` has.
export function matches(value, part) {
  if (!isObject(part) || !isObject(value)) return is(value, part);
  if (isArray(part)) {
    const fits = isArray(value) && value.length === part.length;
    return fits && part.every((item, i) => matches(value[i], item));
  }
  const special = sameSpecial(value, part);
  return special ?? keys(part).every((key) => matches(value[key], part[key]));
}

export function includes(whole, item) {
  if (typeof whole === "string") return whole.includes(item);
  if (whole instanceof Set) return whole.has(item);
  if (isArray(whole)) return whole.some((member) => equal(member, item));
  throw new TypeError("toContain: expected a text, an array or a set");
}
