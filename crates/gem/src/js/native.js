// The way from JavaScript to Rust. The engine calls `bind` once, before any other module of
// Sarsen's runs a function; `native` then holds the functions that `natives.rs` lists.
export let native;

export function bind(functions) {
  native = functions;
}
