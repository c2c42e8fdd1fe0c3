// The URLs of the files in `public/`. Each holds the hash of the file's content, so whoever has it
// never needs to ask again.
import { native } from "sarsen:native";

// Only of files that are there, so there are no more than these.
const known = new Map();

export function asset(path) {
  const url = known.get(path);
  if (url !== undefined) return url;
  if (typeof path !== "string") {
    throw new TypeError(`asset: expected a path such as "/style.css", got ${typeof path}`);
  }
  const found = native.asset(path);
  known.set(path, found);
  return found;
}
