// The pages. Everything put into html`...` is escaped, so what visitors write stays text.
import { html } from "sarsen";

const layout = (title, messages, body) => html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title}</title>
  <link rel="stylesheet" href="/style.css">
</head>
<body>
  <h1>${title}</h1>
  ${messages.map(({ message, kind }) => html`<p class="${kind}" role="status">${message}</p>`)}
  ${body}
</body>
</html>
`;

export const bookPage = ({ entries, older, isModerator, count, messages, form, mistake }) =>
  layout("Guestbook", messages, html`
  <form method="post" action="/entries">
    ${mistake && html`<p class="error" role="alert">${mistake}</p>`}
    <input name="name" aria-label="your name" placeholder="your name" maxlength="40" required
      value="${form.name}">
    <textarea name="text" aria-label="your words" maxlength="500" required>
${form.text}</textarea>
    <button>Sign</button>
  </form>
  ${entries.map(([id, entry]) => shownEntry(id, entry, isModerator))}
  <nav>${older && html`<a href="/?before=${older}">older</a>`}
    <span>${count} entries</span>
    ${isModerator
      ? html`<form method="post" action="/logout"><button>Log out</button></form>`
      : html`<a href="/login">moderate</a>`}
  </nav>`);

const shownEntry = (id, { name, text, written, hidden }, isModerator) => {
  if (hidden && !isModerator) return "";
  return html`<article>
    <p>${text}</p>
    <footer>${name}, <time>${written.toISOString().slice(0, 10)}</time>${hidden && " (hidden)"}
    ${isModerator && html`<form method="post">
      <button formaction="/moderate/${id}/hide">${hidden ? "Show" : "Hide"}</button>
      <button formaction="/moderate/${id}/delete">Delete</button>
    </form>`}</footer>
  </article>
  `;
};

export const loginPage = (messages) =>
  layout("Moderation", messages, html`
  <form method="post" action="/login">
    <input type="password" name="secret" aria-label="password" required autofocus>
    <button>Log in</button>
  </form>
  <p>Who logs in first chooses the password.</p>`);
