// The module "sarsen": all that an application imports.
export { App } from "sarsen:app";
export { asset } from "sarsen:asset";
export { html, raw } from "sarsen:html";
export { HttpError } from "sarsen:failure";
export { refuse } from "sarsen:refuse";
export { password } from "sarsen:password";
export { bytes, json, redirect, reply, text } from "sarsen:reply";
