// Several functions as one: the middleware and the handlers that a request is for. The engine asks
// for each combination once and keeps it.
import { replyOf, withStatus } from "sarsen:reply";
import { native } from "sarsen:native";
import { replied } from "sarsen:turn";

// One function for the entries at `places`, in this order. What is behind the last of them, should
// it be asked for, is Sarsen's own answer.
export function compose(entries, places) {
  const steps = places.flatMap((place) => stepsOf(entries[place]));
  if (!steps.at(-1).isFinal) steps.push(ENDING);
  return (context) => go(steps, 0, context);
}

const ENDING = { isFinal: true, call: () => replyOf(native.ending()) };

function stepsOf({ kind, pattern, functions }) {
  if (kind === "notFound") return [{ isFinal: true, call: notFound(functions[0]) }];
  return functions.map((call, i) => {
    const isHandler = kind === "route" && i === functions.length - 1;
    return { call, isHandler, isFinal: isHandler && call.length < 2, pattern };
  });
}

// A handler whose reply is 404 if it does not say otherwise.
export function notFound(handler) {
  return (context) => {
    const result = handler(context);
    if (isPromise(result)) return result.then((value) => withStatus(404, value));
    return withStatus(404, result);
  };
}

function isPromise(value) {
  return typeof value?.then === "function";
}

// Runs the step at `at` and, as far as they are asked for, those behind it. Gives the result or a
// promise of it.
function go(steps, at, context) {
  const step = steps[at];
  if (step.isFinal) return noted(step.call(context), context);
  // What the steps behind this one came to; there is none before they are asked for.
  let rest;
  const next = (error) => {
    if (rest !== undefined) return Promise.reject(new Error("next() was called a second time"));
    rest = error === undefined ? proceed(steps, at + 1, context) : Promise.reject(error);
    return rest;
  };
  const result = step.call(context, next);
  if (!isPromise(result)) return ended(step, result, rest, context);
  return result.then((value) => ended(step, value, rest, context));
}

// What a step has come to: its own result goes before that of the steps behind it.
function ended(step, result, rest, context) {
  if (result === undefined && rest !== undefined) return rest;
  if (step.isHandler) return noted(result, context);
  if (result !== undefined) return result;
  throw new TypeError(
    `a middleware on "${step.pattern}" returned nothing and did not call next(); expected a ` +
      "reply, or `return next()`",
  );
}

// As `go`, but always a promise: what is thrown at once is a rejection, too.
async function proceed(steps, at, context) {
  return go(steps, at, context);
}

// From here on there is a reply, which middleware may change.
function noted(result, context) {
  if (isPromise(result)) {
    return result.then((value) => {
      replied(context);
      return value;
    });
  }
  replied(context);
  return result;
}
