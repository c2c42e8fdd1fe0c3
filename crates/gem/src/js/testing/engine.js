// What the engine of a test file calls, as `sarsen:engine` is what a worker's does. It comes first,
// so that the globals are replaced before any module of the application's runs.
import "sarsen:globals";
export { bind } from "sarsen:native";
export { outcome, start, titles } from "sarsen:testing/tests";
// Loaded with it, so that the file finds it evaluated.
import "sarsen:test";
