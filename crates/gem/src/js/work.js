// Counts work of the engine's own functions, which never ask whether the request's CPU time is up:
// the engine asks at calls and loops, and only at each ten thousandth of them.
import { native } from "sarsen:native";

// Elements or characters that are passed over between two looks at the clock: some milliseconds.
const WORK_PER_LOOK = 2 ** 22;

let done = 0;

export function charge(work) {
  done += work;
  if (done < WORK_PER_LOOK) return;
  done = 0;
  // Nothing catches what the engine throws here, once it looks at the clock.
  if (native.isSpent()) for (;;);
}

// Puts `guarded` in the place of a function, which looks like that from outside.
export function replace(holder, name, guarded) {
  const { length } = holder[name];
  defineProperty(guarded, "name", { value: name, configurable: true });
  defineProperty(guarded, "length", { value: length, configurable: true });
  defineProperty(holder, name, { value: guarded, writable: true, configurable: true });
}

const { defineProperty } = Object;
