// The tests of one file: collected while it loads, then run one at a time. The engine calls
// `start`, runs pending jobs until none is left, and then calls `outcome`.
const tests = [];
let taken = false;
let current;

// Registers a test. `body` may be async; the test has failed if it throws.
export function test(title, body) {
  if (taken) throw new Error("test: tests are registered while the file loads, not later");
  if (typeof title !== "string" || title.trim() === "") {
    throw new TypeError("test: expected a title and a function");
  }
  if (typeof body !== "function") {
    throw new TypeError(`test("${title}"): expected a function, got ${typeof body}`);
  }
  if (tests.some((other) => other.title === title)) {
    throw new Error(`test("${title}"): there is one of that title in this file already`);
  }
  tests.push({ title, body });
}

// The titles; from now on the list is closed.
export function titles() {
  taken = true;
  return tests.map(({ title }) => title);
}

export function start(number) {
  const run = { settled: false, failed: false, error: undefined };
  current = run;
  const end = (failed, error) => {
    if (run.settled) return;
    run.settled = true;
    run.failed = failed;
    run.error = error;
  };
  try {
    const result = tests[number].body();
    if (typeof result?.then !== "function") return end(false);
    result.then(() => end(false), (error) => end(true, error));
  } catch (error) {
    end(true, error);
  }
}

// Throws what the test has failed with.
export function outcome() {
  const { settled, failed, error } = current;
  current = undefined;
  if (!settled) {
    throw new Error("the test awaits a promise that nothing is left to settle");
  }
  if (failed) throw error;
}
