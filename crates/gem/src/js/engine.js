// What the engine calls: it loads this module first, binds the native functions, and then loads
// the application.
import "sarsen:globals";
import "sarsen:guards";
import "sarsen:searches";
import "sarsen:conversions";
export { freezeIntrinsics } from "sarsen:intrinsics";
export { bind } from "sarsen:native";
export { take, takeServices, takeTasks } from "sarsen:app";
export { compose, notFound } from "sarsen:chain";
export { finish, finishCall, run, runCall } from "sarsen:turn";
