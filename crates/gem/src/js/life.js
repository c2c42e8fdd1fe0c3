// Which request is being served. Everything a handler is given remembers the number of its
// request and refuses to work under another. That holds for what Sarsen gives: the application's
// module variables and the globals are shared by the requests of one worker, and nothing undoes
// what a request did to them, be it refused, failed or run again. A number, not an object:
// references in a circle would leave each request's garbage to the collector.
let current = 0;
let last = 0;
let numbers = 0;

export function begin() {
  last += 1;
  current = last;
  numbers = 0;
  return current;
}

export function end() {
  current = 0;
}

// The number of the request that is being served.
export function now() {
  return current;
}

export function check(life) {
  if (life !== current) throw new Error("the request is over");
}

// A number that nothing else of the request has.
export function number() {
  numbers += 1;
  return numbers - 1;
}
