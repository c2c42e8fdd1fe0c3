// What a test expects. A failure carries both values as text, which the runner shows as a
// difference.
import { equal, includes, matches } from "sarsen:testing/equal";
import { show, showLong } from "sarsen:testing/show";

// The engine reads `expected` and `actual`, if there are any.
class Unexpected extends Error {
  constructor(message, expected, actual) {
    super(message);
    this.expected = expected;
    this.actual = actual;
  }
}
Object.defineProperty(Unexpected.prototype, "name", { value: "" });

// Fails the test unless `condition` is true in JavaScript's sense.
export function assert(condition, message = "expected it to be true") {
  if (!condition) throw new Unexpected(String(message));
}

class Expectation {
  #value;
  #negated;

  constructor(value, negated) {
    this.#value = value;
    this.#negated = negated;
  }

  // The same expectation the other way round.
  get not() {
    return new Expectation(this.#value, !this.#negated);
  }

  // The same value (Object.is).
  toBe(expected) {
    this.#check(Object.is(this.#value, expected), "to be", expected);
  }

  // The same in structure; members that are undefined do not count.
  toEqual(expected) {
    this.#check(equal(this.#value, expected), "to equal", expected);
  }

  // An object that has at least these members, in structure.
  toMatchObject(expected) {
    this.#check(matches(this.#value, expected), "to match", expected);
  }

  // A text that has this part, or an array or set with this item.
  toContain(item) {
    this.#check(includes(this.#value, item), "to contain", item);
  }

  // A text that the regular expression matches.
  toMatch(pattern) {
    const text = this.#value;
    if (typeof text !== "string") {
      throw new TypeError(`toMatch: expected a text, got ${show(text)}`);
    }
    this.#check(text.search(pattern) >= 0, "to match", pattern);
  }

  toHaveLength(length) {
    this.#check(this.#value?.length === length, "to have length", length);
  }

  toBeGreaterThan(bound) {
    this.#check(this.#value > bound, "to be greater than", bound);
  }

  toBeLessThan(bound) {
    this.#check(this.#value < bound, "to be less than", bound);
  }

  toBeTruthy() {
    this.#say(Boolean(this.#value), "to be true in JavaScript's sense");
  }

  toBeUndefined() {
    this.#say(this.#value === undefined, "to be undefined");
  }

  // A function that throws; its message has this part or matches this regular expression.
  toThrow(expected) {
    if (typeof this.#value !== "function") {
      throw new TypeError("toThrow: expected a function; write expect(() => ...).toThrow(...)");
    }
    const thrown = caught(this.#value);
    const message = String(thrown?.error?.message ?? thrown?.error);
    const fits =
      expected === undefined ||
      (expected instanceof RegExp ? expected.test(message) : message.includes(expected));
    const did = thrown === undefined ? "it did not throw" : `it threw ${show(message)}`;
    const what = expected === undefined ? "to throw" : `to throw ${show(expected)}`;
    if ((thrown !== undefined && fits) === this.#negated) {
      throw new Unexpected(`expected the function ${this.#negated ? "not " : ""}${what}: ${did}`);
    }
  }

  #check(holds, relation, expected) {
    if (holds !== this.#negated) return;
    const [shown, wanted] = [show(this.#value), show(expected)];
    const not = this.#negated ? "not " : "";
    const [text, other] = [plain(this.#value), plain(expected)];
    const isShort = shown.length + wanted.length < 100 && !`${shown}${wanted}`.includes("\\n");
    if (isShort) throw new Unexpected(`expected ${shown} ${not}${relation} ${wanted}`);
    throw new Unexpected(`the value was expected ${not}${relation} another one`, other, text);
  }

  #say(holds, what) {
    if (holds !== this.#negated) return;
    throw new Unexpected(`expected ${show(this.#value)} ${this.#negated ? "not " : ""}${what}`);
  }
}

// Texts are compared as they are, line by line.
function plain(value) {
  return typeof value === "string" ? value : showLong(value);
}

function caught(body) {
  try {
    body();
    return undefined;
  } catch (error) {
    return { error };
  }
}

// What is expected of `value`: expect(reply.status).toBe(200).
export function expect(value) {
  return new Expectation(value, false);
}
