// What the engine calls: it loads this module first, binds the native functions, and then loads
// the application.
import "sarsen:globals";
export { bind } from "sarsen:native";
export { take } from "sarsen:app";
export { finish, run } from "sarsen:turn";
