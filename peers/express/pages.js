// What the pages look like. apps/pages writes the same bytes, which the benchmark checks.
const SPECIAL = /[&<>"']/g;
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => String(text).replace(SPECIAL, (char) => ENTITIES[char]);

const page = (title, body) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escape(title)}</title>
<h1>${escape(title)}</h1>
${body}
</html>
`;

export const hello = () => page("Hello", "<p>Hello, world</p>");

export const counter = (count) => page("Counter", `<output>${count}</output>`);

export const notes = (rows) => page("Notes", `<ul>${rows.map(note).join("")}</ul>`);

const note = ({ key, title, body, stars }) =>
  `<li id="${escape(key)}"><h2>${escape(title)}</h2><p>${escape(body)}</p><b>${stars}</b></li>`;

export const ordered = (item, quantity) =>
  page("Thank you", `<p>${quantity} of ${escape(item)} are on their way</p>`);

export const transferred = (from, to, amount, left) =>
  page("Done", `<p>${amount} from ${escape(from)}, which has ${left}, to ${escape(to)}</p>`);
