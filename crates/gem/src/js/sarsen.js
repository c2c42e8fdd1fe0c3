// The module "sarsen": all that an application imports.
export { App } from "sarsen:app";
export { html, raw } from "sarsen:html";
export { refuse } from "sarsen:refuse";
export { password } from "sarsen:password";
export { redirect, reply } from "sarsen:reply";
