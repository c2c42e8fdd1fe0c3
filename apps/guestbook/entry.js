// What visitors write: which of it is an entry.
const NAME_MAX = 40;
const TEXT_MAX = 500;

// The entry that a form holds, or what is wrong with it, for the visitor.
export function entryOf(form) {
  const name = String(form.name ?? "").trim();
  const text = String(form.text ?? "").trim();
  if (name === "" || text === "") return { mistake: "Please give your name and a few words." };
  if (name.length > NAME_MAX) return { mistake: `A name has at most ${NAME_MAX} characters.` };
  if (text.length > TEXT_MAX) return { mistake: `An entry has at most ${TEXT_MAX} characters.` };
  return { entry: { name, text } };
}
