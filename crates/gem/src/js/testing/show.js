// Values as a failure shows them: much as one would write them, one member a line where a line
// would be long, and members by name, so that two of them can be compared line by line.
const LINE_CHARS = 72;
const DEPTH_MAX = 20;
const { isArray } = Array;
const { keys } = Object;
const NAME = /^[A-Za-z_$][\w$]*$/;

export function show(value) {
  return shown(value, "", 0);
}

// The same, with a line for each member at least of the whole.
export function showLong(value) {
  return shown(value, "", 0, 0);
}

function shown(value, indent, depth, chars = LINE_CHARS) {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "object":
      return value === null ? "null" : shownObject(value, indent, depth, chars);
    case "function":
      return `function ${value.name || "without a name"}`;
    case "bigint":
      return `${value}n`;
    default:
      return Object.is(value, -0) ? "-0" : String(value);
  }
}

function shownObject(value, indent, depth, chars) {
  if (depth === DEPTH_MAX) return "…";
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "Date(invalid)" : `Date(${value.toISOString()})`;
  }
  if (value instanceof RegExp || value instanceof Error) return String(value);
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${[...value].join(", ")})`;
  if (value instanceof Map) return `Map ${shown([...value], indent, depth + 1)}`;
  if (value instanceof Set) return `Set ${shown([...value], indent, depth + 1)}`;
  const inner = `${indent}  `;
  if (isArray(value)) {
    return wrapped(["[", "]"], value.map((item) => shown(item, inner, depth + 1)), indent, chars);
  }
  const member = (key) =>
    `${NAME.test(key) ? key : JSON.stringify(key)}: ${shown(value[key], inner, depth + 1)}`;
  return wrapped(["{ ", " }"], keys(value).sort().map(member), indent, chars);
}

function wrapped([open, close], parts, indent, chars) {
  if (parts.length === 0) return open.trim() + close.trim();
  const line = open + parts.join(", ") + close;
  if (line.length <= chars && !line.includes("\n")) return line;
  const lines = parts.map((part) => `${indent}  ${part},\n`).join("");
  return `${open.trim()}\n${lines}${indent}${close.trim()}`;
}
